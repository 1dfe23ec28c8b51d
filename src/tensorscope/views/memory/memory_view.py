"""Memory over time: live allocator bytes by category, with steps, phases and single blocks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from psygnal import SignalInstance
from PySide6.QtCore import QEvent, QModelIndex, Qt, QTimer
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QSizePolicy,
    QSplitter,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from tensorscope.core.schema import CATEGORIES
from tensorscope.models.block_lifetime import (
    BlockLifetime,
    followed,
    lifetime_of_address,
    lifetime_of_row,
)
from tensorscope.models.memory_model import ALL_DEVICES, MemoryIntent, MemoryModel, MemorySnapshot
from tensorscope.models.selection import NOTHING, Selection
from tensorscope.models.session_model import SessionModel
from tensorscope.views.csv_file import write_csv
from tensorscope.views.items.chart_theme import chart_theme
from tensorscope.views.memory.block_item_model import BlockItemModel
from tensorscope.views.memory.category_legend import CategoryLegend
from tensorscope.views.memory.memory_chart import NS, MemoryChart
from tensorscope.views.memory.memory_texts import MemoryTexts
from tensorscope.views.names import Names
from tensorscope.views.picture import write_picture
from tensorscope.views.session_view import SessionView

WINDOWS = (1, 5, 20, 0)
REACH_PX = 4
LIST_MS = 200
"""How often the list of blocks follows the stream."""
UPDATE_S = 0.006


class MemoryView(SessionView):
    """Shows allocator bytes (what tensors occupy, rounded by nothing), never process bytes unasked."""

    view_id: ClassVar[str] = "memory"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("memoryView")
        self._session = SessionModel()
        self._model = MemoryModel(self._session.store)
        self._intent = MemoryIntent()
        self._snapshot: MemorySnapshot | None = None
        self._block: BlockLifetime | None = None
        self._hover_x: float | None = None
        self._waiting = False
        self._names = Names(self)
        self._texts = MemoryTexts(self._names, self)
        self._pinned_ns: int | None = None
        self._listed = False
        self._build()
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.timeout.connect(self.refresh)
        self._list_later = QTimer(self)
        self._list_later.setSingleShot(True)
        self._list_later.setInterval(LIST_MS)
        self._list_later.timeout.connect(self._show_blocks)
        self._retheme()
        self._retranslate()

    def _build(self) -> None:
        self._window = QComboBox(self)
        self._window.setObjectName("memoryWindow")
        self._window.activated.connect(self._on_window)
        self._device = QComboBox(self)
        self._device.setObjectName("memoryDevice")
        self._device.activated.connect(self._on_device)
        self._rss = QCheckBox(self)
        self._rss.setObjectName("memoryRss")
        self._rss.toggled.connect(self.refresh)
        self._readout = QLabel(self)
        self._readout.setObjectName("memoryReadout")
        self._readout.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._readout.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._message = QLabel(self)
        self._message.setObjectName("memoryMessage")
        self._message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._message.setWordWrap(True)
        self._chart = MemoryChart(self)
        self._legend = CategoryLegend(self._names, self)
        self._legend.hidden_changed.connect(self.refresh)
        self._build_list()
        self._selected = QLabel(self)
        self._selected.setObjectName("memorySelected")
        self._selected.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._selected.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        bar = QHBoxLayout()
        bar.setContentsMargins(8, 4, 8, 4)
        for widget in (self._window, self._device, self._rss):
            bar.addWidget(widget)
        bar.addWidget(self._readout, 1)
        middle = QSplitter(Qt.Orientation.Horizontal, self)
        middle.setChildrenCollapsible(False)
        middle.addWidget(self._stacked(self._chart, self._message))
        middle.addWidget(self._stacked(self._legend, self._heading, self._list))
        middle.setStretchFactor(0, 1)
        bottom = QHBoxLayout()
        bottom.setContentsMargins(8, 2, 8, 4)
        bottom.addWidget(self._selected)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(bar)
        layout.addWidget(middle, 1)
        layout.addLayout(bottom)
        chart = self._chart
        chart.moved.connect(self._on_moved)
        chart.resized.connect(self._on_resized)
        chart.hovered.connect(self._on_hovered)
        chart.hover_left.connect(self._on_hover_left)
        chart.clicked.connect(self._on_clicked)
        chart.fit_asked.connect(self._on_fit)
        chart.edge_asked.connect(self._on_edge)
        chart.peak_asked.connect(self._on_peak)
        self.setFocusProxy(chart)

    def _stacked(self, *widgets: QWidget) -> QWidget:
        """Return a widget with `widgets` below each other, the last one taking what is left."""
        holder = QWidget(self)
        column = QVBoxLayout(holder)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        for widget in widgets:
            column.addWidget(widget)
        for widget in (self._chart, self._message, self._list):
            column.setStretchFactor(widget, 1)
        return holder

    def _build_list(self) -> None:
        self._heading = QLabel(self)
        self._heading.setObjectName("memoryBlocksHeading")
        self._heading.setWordWrap(True)
        self._heading.setMargin(4)
        self._blocks = BlockItemModel(self._names, self)
        self._list = QTableView(self)
        self._list.setObjectName("memoryBlocks")
        self._list.setModel(self._blocks)
        self._list.verticalHeader().hide()
        self._list.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 6)
        self._list.setShowGrid(False)
        self._list.setWordWrap(False)
        self._list.setFrameShape(QTableView.Shape.NoFrame)
        self._list.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self._list.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._list.setTextElideMode(Qt.TextElideMode.ElideLeft)  # the end of a module path says most
        header, em = self._list.horizontalHeader(), self.fontMetrics()
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        self._list.setColumnWidth(0, em.horizontalAdvance("1023 KiB") + 2 * em.height())
        self._list.setColumnWidth(2, em.horizontalAdvance("Since step") + em.height())
        self._list.activated.connect(self._on_listed)
        self._list.clicked.connect(self._on_listed)

    # -- what the window asks -------------------------------------------------------------------

    def title(self) -> str:
        """Return the translated name of the view."""
        return self.tr("Memory")

    def set_session(self, session: SessionModel) -> None:
        """Show another session."""
        for signal, slot in self._connections():
            signal.disconnect(slot, missing_ok=True)
        self._session = session
        self._model = MemoryModel(session.store)
        self._intent = MemoryIntent(steps=self._intent.steps)
        self._snapshot, self._block, self._hover_x, self._pinned_ns = None, None, None, None
        self._listed = False
        for signal, slot in self._connections():
            signal.connect(slot)
        self._on_selection(session.selection)
        self.refresh()

    def _connections(self) -> tuple[tuple[SignalInstance, Callable[..., None]], ...]:
        session = self._session
        return (
            (session.step_changed, self._on_step),
            (session.selection_changed, self._on_selection),
            (session.state_changed, self._show_message),
        )

    def refresh(self) -> None:
        """Take in new events for a few milliseconds, then show the window at pixel resolution."""
        deadline = time.perf_counter() + UPDATE_S
        while (waiting := self._model.update()) and time.perf_counter() < deadline:
            pass
        self._waiting = waiting
        if waiting:
            self._later.start()
        empty = not len(self._model.live) or (waiting and self._snapshot is None)
        self._chart.setVisible(not empty)
        self._message.setVisible(empty)
        self._show_message()
        if empty or waiting:  # a picture of half the events would be wrong
            if empty:
                self._legend.set_bytes(None)
            return
        self._intent = replace(
            self._intent, columns=self._chart.columns, hidden=self._legend.hidden_categories(),
            end_step=self._session.current_step,
        )  # fmt: skip
        self._snapshot = self._model.resolve(self._intent)
        self._chart.apply(
            self._snapshot, self._names.phases(), self._session.current_step, self._rss.isChecked()
        )
        self._show_window()
        self._show_devices()
        self._show_moment()
        self._follow_block()
        if not self._list_later.isActive():
            self._list_later.start()

    def is_idle(self) -> bool:
        """Return whether every event that arrived is in the picture, and blocks were listed once."""
        return not self._waiting and (self._listed or not len(self._model.live))

    def snapshot(self) -> MemorySnapshot | None:
        """Return what is shown."""
        return self._snapshot

    def export(self, path: Path, file_format: str) -> None:
        """Write what is shown; the CSV holds the drawn columns."""
        if file_format == "csv":
            write_csv(path, csv_header(), [] if self._snapshot is None else csv_rows(self._snapshot))
        else:
            write_picture(self, path, file_format)

    # -- what the person does -------------------------------------------------------------------

    def _on_window(self, index: int) -> None:
        if index == len(WINDOWS):
            return
        self._intent = replace(self._intent, steps=WINDOWS[index], window_ns=None)
        self.refresh()

    def _on_device(self, index: int) -> None:
        self._model = MemoryModel(self._session.store, int(self._device.itemData(index)))
        self.refresh()

    def _on_fit(self) -> None:
        self._intent = replace(self._intent, window_ns=None)
        self.refresh()

    def _on_moved(self, first: float, last: float) -> None:
        self._intent = replace(self._intent, window_ns=(round(first * NS), round(last * NS)))
        self._later.start()

    def _on_resized(self) -> None:
        self._later.start()

    def _on_edge(self, side: int) -> None:
        if self._snapshot is None:
            return
        first, last = self._model.span_ns()
        span = self._snapshot.window_ns[1] - self._snapshot.window_ns[0]
        start = first if side < 0 else max(first, last - span)
        self._intent = replace(self._intent, window_ns=(start, start + span))
        self.refresh()

    def _on_peak(self, direction: int) -> None:
        if self._snapshot is None:
            return
        first, last = self._snapshot.window_ns
        here = (first + last) // 2 if self._hover_x is None else round(self._hover_x * NS)
        peak = self._model.next_peak(here, direction)
        span = last - first
        self._intent = replace(self._intent, window_ns=(peak - span // 2, peak - span // 2 + span))
        self._hover_x = peak / NS
        self.refresh()

    def _on_step(self, step: int) -> None:
        if self._intent.window_ns is not None and not self._session.follow:
            first, last = self._intent.window_ns
            begin, end = self._model.window_ns(MemoryIntent(steps=1, end_step=step))
            if end <= first or begin >= last:
                start = (begin + end) // 2 - (last - first) // 2
                self._intent = replace(self._intent, window_ns=(start, start + last - first))
        if self.isVisible() and not self._session.follow:
            self._later.start()

    def _on_hovered(self, x: float, y: float) -> None:
        self._hover_x = x
        self._show_moment()

    def _on_hover_left(self) -> None:
        self._hover_x = None
        self._show_moment()

    def _on_clicked(self, x: float, y: float) -> None:
        self._pinned_ns = round(x * NS)
        self._list_later.start()
        first, last = self._chart.x_range()
        reach_ns = round((last - first) / self._chart.columns * REACH_PX * NS)
        row = self._model.event_near(round(x * NS), reach_ns, self._chart.category_at(x, y))
        if row < 0:
            self._session.select(NOTHING)
            return
        address = int(self._session.store.tables["alloc"]["address"][row])
        self._session.select(Selection(storage=address, alloc_row=row))

    def _on_listed(self, index: QModelIndex) -> None:
        block = self._blocks.block(index.row())
        self._session.select(Selection(storage=block.address, alloc_row=block.row))

    def _show_blocks(self) -> None:
        """List what is alive at the moment that was clicked, else at the peak of the window."""
        if self._snapshot is None:
            return
        first, last = self._snapshot.window_ns
        pinned = self._pinned_ns is not None and first <= self._pinned_ns <= last
        at_ns = self._pinned_ns if pinned and self._pinned_ns is not None else self._snapshot.peak_t_ns
        self._listed = True
        blocks, count = self._model.largest_blocks(at_ns)
        self._blocks.set_blocks(blocks)
        self._heading.setText(self._texts.blocks_heading(at_ns, not pinned, count))
        row = self._blocks.row_of(self._session.selection.storage)
        self._list.selectRow(row) if row >= 0 else self._list.clearSelection()

    def _on_selection(self, selection: Selection) -> None:
        store, table = self._session.store, self._session.store.tables["alloc"]
        self._block = None
        if 0 <= selection.alloc_row < len(table):
            self._block = lifetime_of_row(store, selection.alloc_row)
        elif selection.storage:
            _, end_ns = self._model.window_ns(MemoryIntent(steps=1, end_step=self._session.current_step))
            self._block = lifetime_of_address(store, selection.storage, end_ns)
        self._show_block()

    def _follow_block(self) -> None:
        if self._block is None:
            return
        block = followed(self._session.store, self._block)
        if (block.end, block.lost_t_ns) != (self._block.end, self._block.lost_t_ns):
            self._block = block
            self._show_block()
        self._block = block

    def _show_block(self) -> None:
        self._chart.show_lifetime(self._block)
        self._selected.setText(self._texts.block(self._block, self._session.selection.storage))

    # -- texts ----------------------------------------------------------------------------------

    def _show_moment(self) -> None:
        if self._snapshot is None:
            return
        self._chart.show_cursor(self._hover_x)
        at_ns = self._snapshot.window_ns[1] if self._hover_x is None else round(self._hover_x * NS)
        moment = self._model.moment(at_ns)
        self._legend.set_bytes(None if moment is None else list(moment.category_bytes))
        hovering = self._hover_x is not None
        summary = self._texts.summary(self._snapshot, self._model.mismatch_bytes)
        self._readout.setText(self._texts.moment(moment) if hovering else summary)

    def _show_message(self) -> None:
        reading = self._model.progress if self._waiting else None
        self._message.setText(self._texts.missing(self._session.store.hello, reading))

    def _show_window(self) -> None:
        """Say in the chooser that the person moved the window away from the last steps."""
        custom = self._intent.window_ns is not None
        if custom and self._window.count() == len(WINDOWS):
            self._window.addItem(self.tr("Chosen span"))
        elif not custom and self._window.count() > len(WINDOWS):
            self._window.removeItem(len(WINDOWS))
        self._window.setCurrentIndex(len(WINDOWS) if custom else WINDOWS.index(self._intent.steps))

    def _show_devices(self) -> None:
        devices = sorted(self._model.devices)
        known = [self._device.itemData(i) for i in range(self._device.count())]
        wanted = [ALL_DEVICES, *devices]
        self._device.setVisible(len(devices) > 1)
        if known != wanted:
            self._device.clear()
            for device in wanted:
                name = self.tr("All devices") if device == ALL_DEVICES else self._names.device(device)
                self._device.addItem(name, device)
            self._device.setCurrentIndex(max(0, self._device.findData(self._model.device)))

    # -- language and theme ---------------------------------------------------------------------

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language and the palette."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
            self.refresh()
        elif event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._retheme()
            self.refresh()

    def _retheme(self) -> None:
        theme = chart_theme(self)
        self._chart.set_theme(theme)
        self._legend.set_colours(theme.categories)
        self._blocks.set_colours(theme.categories, max(8, self.fontMetrics().ascent() - 2))

    def _retranslate(self) -> None:
        self._window.clear()
        for steps in WINDOWS:
            text = self.tr("Last {count} steps").format(count=steps) if steps > 1 else self.tr("Last step")
            self._window.addItem(text if steps else self.tr("All steps"))
        self._show_window()
        self._window.setAccessibleName(self.tr("Time window"))
        self._device.clear()
        self._device.setAccessibleName(self.tr("Device"))
        self._rss.setText(self.tr("Process memory (RSS)"))
        self._chart.setAccessibleName(self.tr("Live bytes over time, stacked by category"))
        self._chart.getPlotItem().setLabel("bottom", self.tr("Time since start (s)"))
        self._chart.getPlotItem().setLabel("left", self.tr("Live allocator bytes"))
        self._legend.retranslate()
        self._selected.setText(self._texts.block(self._block, self._session.selection.storage))
        self._show_message()


def csv_header() -> list[str]:
    """Return the header of `csv_rows`, with units."""
    return ["t0_s", "t1_s", "total_max_bytes", "total_min_bytes", *(f"{name}_bytes" for name in CATEGORIES)]


def csv_rows(snapshot: MemorySnapshot) -> list[list[float | int]]:
    """Return one row a drawn column: what is on the screen, hidden categories as 0."""
    numbers = np.column_stack([snapshot.high_bytes, snapshot.low_bytes, snapshot.category_bytes]).tolist()
    times = zip((snapshot.t0_ns / NS).tolist(), (snapshot.t1_ns / NS).tolist(), strict=True)
    return [[*span, *row] for span, row in zip(times, numbers, strict=True)]
