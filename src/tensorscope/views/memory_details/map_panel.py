"""Addresses over time: one rectangle a lifetime, reserved segments behind."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from tensorscope.compute.block_raster import Raster, raster
from tensorscope.core.schema import CATEGORIES
from tensorscope.core.units import format_bytes
from tensorscope.models.address_map import AddressMap, address_map
from tensorscope.models.allocations import ALIVE, UNSEEN
from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.grouping import CATEGORY, GROUPS
from tensorscope.models.memory_axis import EVENT, TIME
from tensorscope.models.selection import Selection
from tensorscope.models.session_model import SessionModel
from tensorscope.models.stack_labels import StackLabels
from tensorscope.views.items.chart_theme import chart_theme
from tensorscope.views.items.newest_job import NewestJob
from tensorscope.views.memory.series_names import SeriesNames
from tensorscope.views.memory_details.address_chart import AddressChart
from tensorscope.views.memory_details.computed_panel import ComputedPanel
from tensorscope.views.names import Names

LATER_MS = 30
MARGIN = 0.02
LEGEND_ENTRIES, LEGEND_ENTRY_EM = 8, 11


class MapPanel(ComputedPanel):
    """The map is made once a session grows; its picture anew for every window, off the GUI thread."""

    panel_id: ClassVar[str] = "map"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("mapPanel")
        self._names = Names(self)
        self._series = SeriesNames(self._names, self)
        self._fitted = self._began = False
        self._pictures = NewestJob(self)
        self._pictures.done.connect(self._on_picture)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(LATER_MS)
        self._later.timeout.connect(self._draw)
        self._group, self._axis = QComboBox(self), QComboBox(self)
        self._group.setObjectName("mapGroup")
        self._axis.setObjectName("mapAxis")
        for box in (self._group, self._axis):
            box.activated.connect(self._on_chosen)
        self._go = QPushButton(self)
        self._go.setObjectName("goToSelection")
        self._go.clicked.connect(self._on_go)
        self._legend, self._readout = QLabel(self), QLabel(self)
        self._readout.setObjectName("mapReadout")
        for label in (self._legend, self._readout):
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._chart = AddressChart(self)
        self._chart.moved.connect(self._on_moved)
        self._chart.box.sigYRangeChanged.connect(self._on_moved)
        self._chart.resized.connect(self._on_moved)
        self._chart.hovered.connect(self._on_hovered)
        self._chart.clicked.connect(self._on_clicked)
        self._chart.fit_asked.connect(self._on_fit)
        bar = QHBoxLayout()
        bar.setContentsMargins(8, 4, 8, 2)
        for widget in (self._group, self._axis, self._go):
            bar.addWidget(widget)
        bar.addWidget(self._legend, 1)
        foot = QHBoxLayout()
        foot.setContentsMargins(8, 2, 8, 4)
        foot.addWidget(self._readout)
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(bar)
        layout.addWidget(self._chart, 1)
        layout.addLayout(foot)

    # -- the map --------------------------------------------------------------------------------

    def set_session(self, session: SessionModel) -> None:
        """Show another session."""
        for signal, slot in self._connections():
            signal.disconnect(slot, missing_ok=True)
        self._fitted = self._began = False
        super().set_session(session)
        for signal, slot in self._connections():
            signal.connect(slot)

    def _connections(self) -> tuple[tuple[Any, Any], ...]:
        session = self.session
        return (session.moment_changed, self._on_moment), (session.selection_changed, self._on_selection)

    def refresh(self) -> None:
        """Choose what tells most once the session has told where it comes from, then as always."""
        sources = self.session.store.records("source")
        if not self._began and len(self.session.store.tables["alloc"]):
            self._began = True
            untimed = bool(sources) and sources[-1].meta.get("ordered") == "event"
            self._axis.setCurrentIndex(self._axis.findData(EVENT if untimed else TIME))
            known = (self.session.store.tables["alloc"]["category"] < len(CATEGORIES) - 1).any()
            self._group.setCurrentIndex(self._group.findData(CATEGORY if known or not sources else "stack"))
        super().refresh()

    def key(self) -> tuple[object, ...]:
        """Return grouping and axis."""
        return self._group.currentData() or CATEGORY, self._axis.currentData() or TIME

    def compute(self, store: FrozenStore) -> AddressMap | None:
        """Return the map."""
        assert self._asked is not None
        group, axis = str(self._asked[0]), str(self._asked[1])
        return address_map(store, group, axis)

    def missing_text(self) -> str:
        """Return why there is nothing."""
        return self.tr("No memory events are known yet. They are recorded from capture level scope on.")

    def is_idle(self) -> bool:
        """Return whether map and picture are there."""
        return super().is_idle() and not self._pictures.waiting and not self._later.isActive()

    def show_answer(self) -> None:
        """Show the map, the whole of it at first."""
        found: AddressMap = self.answer
        self._chart.show_map(found, self._colours(found))
        self._label_axis(found.axis)
        if not self._fitted:
            self._fitted = True
            self._on_fit()
        self._show_marks()
        self._draw()

    def _label_axis(self, axis: str) -> None:
        text = self.tr("Allocator event") if axis == EVENT else self.tr("Time since start (s)")
        self._chart.getPlotItem().setLabel("bottom", text)

    def _colours(self, found: AddressMap) -> list[Any]:
        theme = chart_theme(self)
        if found.grouped is None:
            return list(theme.categories)
        return theme.series(len(found.grouped.labels), found.grouped.others > 0)

    def _show_legend(self, found: AddressMap) -> None:
        names, colours = self._series.series(found.grouped), self._colours(found)
        present = np.unique(found.class_id).tolist()
        room = self._legend.width() // (LEGEND_ENTRY_EM * self.fontMetrics().height())
        shown = min(LEGEND_ENTRIES, max(1, room))
        texts = [
            f'<span style="color:{colours[one].name()}">■</span> {names[one][-26:]}'
            for one in present[:shown]
        ]
        if len(present) > shown:
            texts.append(self.tr("and {count} more").format(count=len(present) - shown))
        self._legend.setText("&nbsp; ".join(texts))

    # -- the picture ----------------------------------------------------------------------------

    def _draw(self) -> None:
        if self.answer is None:
            return
        found: AddressMap = self.answer
        self._show_legend(found)
        window, size = self._chart.window(), self._chart.size_px()
        classes = int(found.class_id.max(initial=0)) + 1
        rects = found.x0, found.x1, found.y0, found.y1
        self._pictures.ask(lambda cancelled: (raster(*rects, found.class_id, classes, window, size), window))

    def _on_picture(self, generation: int, result: Any) -> None:
        if self._pictures.accept(generation) and isinstance(result, tuple):
            picture: Raster = result[0]
            self._chart.show_raster(picture, result[1])

    # -- what the person does -------------------------------------------------------------------

    def _on_chosen(self) -> None:
        self._fitted = False
        self.refresh()

    def _on_moved(self) -> None:
        self._later.start()

    def _on_fit(self) -> None:
        if self.answer is not None:
            found: AddressMap = self.answer
            height, begin = found.regions.height, found.begin_x
            width = max(found.end_x - begin, 1e-9)
            x = (begin - MARGIN * width, begin + (1 + MARGIN) * width)
            self._chart.show_range(x=x, y=(-MARGIN * height, (1 + MARGIN) * height))
            self._later.start()

    def _on_hovered(self, x: float, y: float) -> None:
        if self.answer is not None:
            block = self.answer.block_at(x, y)
            self._readout.setText(self._block_text(block) if block >= 0 else self._hint())

    def _hint(self) -> str:
        return self.tr("The wheel zooms time, Ctrl and wheel addresses; drag moves; double click shows all")

    def _block_text(self, block: int) -> str:
        blocks, store = self.answer.blocks, self.session.store
        row, end = int(blocks.begin_row[block]), int(blocks.end_ns[block])
        life = self.tr("still alive")
        if row == UNSEEN:
            life = self.tr("its allocation was not seen")
        elif end != ALIVE:
            life = self.tr("lives {ms} ms").format(ms=f"{(end - int(blocks.begin_ns[block])) / 1e6:,.3f}")
        parts = [
            format_bytes(int(blocks.size_bytes[block])),
            self._names.categories()[min(int(blocks.category[block]), 7)],
            store.string(int(blocks.module[block])) or store.string(int(blocks.name[block])),
            StackLabels(store).label(int(blocks.stack[block])), life, f"0x{int(blocks.address[block]):x}",
        ]  # fmt: skip
        return " · ".join(filter(None, parts))

    def _on_clicked(self, x: float, y: float) -> None:
        if self.answer is None:
            return
        found: AddressMap = self.answer
        if found.axis == TIME:
            self.session.go_to_moment(round(x * 1e9))
        block = found.block_at(x, y)
        if block >= 0:
            address, row = int(found.blocks.address[block]), int(found.blocks.begin_row[block])
            self.session.select(Selection(storage=address, alloc_row=row))

    def _on_moment(self, _moment: object) -> None:
        self._show_marks()

    def _on_selection(self, _selection: Selection) -> None:
        self._show_marks()

    def _selected_rect(self) -> tuple[float, float, float, float] | None:
        if self.answer is None:
            return None
        found, chosen = self.answer, self.session.selection
        block = found.index_of(chosen.storage, chosen.alloc_row)
        if block < 0:
            return None
        return float(found.x0[block]), float(found.x1[block]), float(found.y0[block]), float(found.y1[block])

    def _show_marks(self) -> None:
        if self.answer is None:
            return
        rect, moment = self._selected_rect(), self.session.moment_ns
        self._chart.show_selected(rect)
        self._go.setVisible(rect is not None)
        timed = self.answer.axis == TIME
        self._chart.show_moment(moment / 1e9 if moment is not None and timed else None)

    def _on_go(self) -> None:
        rect = self._selected_rect()
        if rect is None:
            return
        x0, x1, y0, y1 = rect
        left, right, bottom, top = self._chart.window()
        width, height = max(4 * (x1 - x0), 1e-6), max(12 * (y1 - y0), 4096.0)
        width, height = min(width, right - left), min(height, top - bottom)
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        self._chart.show_range(x=(x - width / 2, x + width / 2), y=(y - height / 2, y + height / 2))
        self._later.start()

    # -- texts ----------------------------------------------------------------------------------

    def retranslate(self) -> None:
        """Set every text again."""
        super().retranslate()
        group, axis = self._group.currentData(), self._axis.currentData()
        self._group.clear()
        for name in GROUPS:
            self._group.addItem(self._series.groups()[name], name)
        self._group.setCurrentIndex(max(0, self._group.findData(group)))
        self._axis.clear()
        self._axis.addItem(self.tr("Time"), TIME)
        self._axis.addItem(self.tr("Event number"), EVENT)
        self._axis.setCurrentIndex(max(0, self._axis.findData(axis)))
        self._group.setAccessibleName(self.tr("What the colour means"))
        self._axis.setAccessibleName(self.tr("Axis"))
        self._go.setText(self.tr("Go to selection"))
        self._readout.setText(self._hint())
        self._label_axis(self.answer.axis if self.answer is not None else TIME)

    def retheme(self) -> None:
        """Take the colours of the palette."""
        self._chart.retheme()
        if self.answer is not None:
            self.show_answer()

    def csv_table(self) -> tuple[list[str], list[list[Any]]]:
        """Return the lifetimes in view."""
        header = ["address", "size_bytes", "category", "module", "line", "begin_s", "end_s", "device"]
        if self.answer is None:
            return header, []
        found, store, names = self.answer, self.session.store, StackLabels(self.session.store)
        left, right, bottom, top = self._chart.window()
        seen = (found.x1 >= left) & (found.x0 <= right) & (found.y1 >= bottom) & (found.y0 <= top)
        b = found.blocks
        return header, [
            [f"0x{int(b.address[i]):x}", int(b.size_bytes[i]), CATEGORIES[min(int(b.category[i]), 7)],
             store.string(int(b.module[i])), names.label(int(b.stack[i])), int(b.begin_ns[i]) / 1e9,
             "" if b.end_ns[i] == ALIVE else int(b.end_ns[i]) / 1e9, int(b.device[i])]
            for i in np.flatnonzero(seen).tolist()
        ]  # fmt: skip
