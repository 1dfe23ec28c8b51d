"""Memory over time: live allocator bytes in series, with steps, phases, marks and single blocks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from psygnal import SignalInstance
from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QSplitter, QVBoxLayout, QWidget

from tensorscope.models.grouping import CATEGORY
from tensorscope.models.live_blocks import AliveBlock
from tensorscope.models.memory_axis import EVENT, TIME
from tensorscope.models.memory_curves import MemoryCurves
from tensorscope.models.memory_marks import MemoryMarks
from tensorscope.models.memory_model import MemoryModel
from tensorscope.models.memory_snapshot import MemoryIntent, MemorySnapshot
from tensorscope.models.selection import NOTHING, Selection
from tensorscope.models.session_model import SessionModel
from tensorscope.views.csv_file import write_csv
from tensorscope.views.items.chart_theme import chart_theme
from tensorscope.views.memory.memory_bar import MemoryBar
from tensorscope.views.memory.memory_chart import MemoryChart
from tensorscope.views.memory.memory_csv import csv_header, csv_rows
from tensorscope.views.memory.memory_search import MemorySearch
from tensorscope.views.memory.memory_side import MemorySide
from tensorscope.views.memory.memory_texts import MemoryTexts
from tensorscope.views.memory.moment_readout import MomentReadout
from tensorscope.views.memory.selected_block import SelectedBlock
from tensorscope.views.memory.series_names import SeriesNames
from tensorscope.views.memory.stacked_series import StackedSeries
from tensorscope.views.memory.window_mover import WindowMover
from tensorscope.views.names import Names
from tensorscope.views.picture import write_picture
from tensorscope.views.session_view import SessionView

LIST_MS = 200
"""How often the list of blocks follows the stream."""
UPDATE_S = 0.006


class MemoryView(SessionView):
    """Shows allocator bytes (what was asked for), and other meanings of memory only as labelled curves."""

    view_id: ClassVar[str] = "memory"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("memoryView")
        self._session = SessionModel()
        self._names = Names(self)
        self._series = SeriesNames(self._names, self)
        self._texts = MemoryTexts(self._names, self)
        self._search = MemorySearch(self)
        self._later = self._timer(self.refresh, 0)
        self._build()
        self._take(self._session)
        self._retheme()
        self._retranslate()

    def _take(self, session: SessionModel) -> None:
        """Begin anew with a session."""
        self._session = session
        self._model = MemoryModel(session.store)
        self._curves, self._marks = MemoryCurves(session.store), MemoryMarks(session.store)
        self._mover.take(self._model)
        self._stacked.take(self._model, session.store)
        self._selected.take(session)
        self._readout.take(session, self._marks)
        self._waiting = self._began = False

    def _timer(self, slot: Callable[[], None], interval_ms: int) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(interval_ms)
        timer.timeout.connect(slot)
        return timer

    def _build(self) -> None:
        self._bar = MemoryBar(self._names, self._series, self)
        readout, line = QLabel(self), QLabel(self)
        readout.setObjectName("memoryReadout")
        line.setObjectName("memorySelected")
        line.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        for label in (readout, line):
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._message = QLabel(self)
        self._message.setObjectName("memoryMessage")
        self._message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._message.setWordWrap(True)
        self._chart = MemoryChart(self)
        self._side = MemorySide(self._names, self)
        self._legend = self._side.legend
        self._stacked = StackedSeries(self._bar, self._chart, self._side, self._series, self)
        self._mover = WindowMover(self._chart, self._bar, self)
        self._selected = SelectedBlock(line, self._side.details, self._chart, self._texts, self)
        middle = QSplitter(Qt.Orientation.Horizontal, self)
        middle.setChildrenCollapsible(False)
        holder = QWidget(self)
        column = QVBoxLayout(holder)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._chart, 1)
        column.addWidget(self._message, 1)
        middle.addWidget(holder)
        middle.addWidget(self._side)
        middle.setStretchFactor(0, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._bar)
        layout.addLayout(_inset(readout))
        layout.addWidget(middle, 1)
        layout.addLayout(_inset(line))
        self._readout = MomentReadout(
            readout, self._chart, self._bar, self._side, self._mover, self._selected, self._texts, self
        )
        self._list_later = self._timer(self._readout.list_blocks, LIST_MS)
        self._connect()
        self.setFocusProxy(self._chart)

    def _connect(self) -> None:
        chart, bar = self._chart, self._bar
        self._mover.dragged.connect(self._later.start)
        self._mover.dragged.connect(self._list_later.start)  # the list waits until the window rests
        self._mover.jumped.connect(self.refresh)
        chart.hovered.connect(self._readout.point_at)
        chart.hover_left.connect(self._on_hover_left)
        chart.clicked.connect(self._on_clicked)
        bar.device_chosen.connect(self._on_device)
        bar.axis_chosen.connect(self._label_axes)
        bar.shown_changed.connect(self.refresh)
        bar.search_changed.connect(self._on_search)
        bar.next_asked.connect(self._on_next)
        for keys, slot in (("F3", self._on_next), ("Shift+F3", self._on_previous)):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(slot)
        self._legend.hidden_changed.connect(self.refresh)
        self._side.blocks.chosen.connect(self._on_listed)
        self._stacked.changed.connect(self.refresh)
        self._search.done.connect(self.refresh)

    # -- what the window asks -------------------------------------------------------------------

    def title(self) -> str:
        """Return the translated name of the view."""
        return self.tr("Memory")

    def set_session(self, session: SessionModel) -> None:
        """Show another session."""
        for signal, slot in self._connections():
            signal.disconnect(slot, missing_ok=True)
        self._take(session)
        self._search.set_store(session.store)
        for signal, slot in self._connections():
            signal.connect(slot)
        self._on_selection(session.selection)
        self.refresh()

    def _connections(self) -> tuple[tuple[SignalInstance, Callable[..., None]], ...]:
        session = self._session
        return (
            (session.step_changed, self._on_step),
            (session.selection_changed, self._on_selection),
            (session.moment_changed, self._on_moment),
            (session.state_changed, self._show_message),
            (session.reply_received, self._selected.take_reply),
        )

    def refresh(self) -> None:
        """Take in new events for a few milliseconds, then show the window at pixel resolution."""
        deadline = time.perf_counter() + UPDATE_S
        while (waiting := self._model.update()) and time.perf_counter() < deadline:
            pass
        self._waiting = waiting
        if waiting:
            self._later.start()
        empty = not len(self._model.live) or (waiting and self._mover.snapshot is None)
        self._chart.setVisible(not empty)
        self._message.setVisible(empty)
        self._show_message()
        if empty or waiting:  # a picture of half the events would be wrong
            if empty:
                self._legend.set_bytes(None)
            return
        self._begin()
        self._stacked.keep()
        self._stacked.show()
        intent = self._mover.intent = replace(
            self._mover.intent, columns=self._chart.columns, hidden=self._legend.hidden_series(),
            end_step=self._session.current_step, axis=self._bar.axis,
        )  # fmt: skip
        snapshot = self._mover.snapshot = self._model.resolve(intent)
        self._draw(snapshot)
        self._bar.show_window(intent.steps, intent.window is not None)
        self._bar.set_devices(sorted(self._model.devices))
        self._readout.note = self._search.summary()
        self._readout.write()
        if self._selected.follow():
            self._selected.draw(self._mover.axis)
        if not self._list_later.isActive():
            self._list_later.start()

    def _begin(self) -> None:
        """Choose the axis and the grouping that tell most, once it is known where a session comes from."""
        if self._began:
            return
        self._began = True
        sources = self._session.store.records("source")
        untimed = bool(sources) and sources[-1].meta.get("ordered") == "event"
        self._bar.set_axis(EVENT if untimed else TIME, timed=not untimed)
        if sources:  # most of a file of another tool lies in no step
            self._mover.show_steps(0)
        self._bar.set_group("stack" if sources and not self._model.has_categories else CATEGORY)
        if self._bar.group == CATEGORY:
            self._model.grouped = None

    def _draw(self, snapshot: MemorySnapshot) -> None:
        axis, device, window = self._model.axis(snapshot.axis), self._model.device, snapshot.window
        columns = self._chart.columns
        self._bar.set_curves(self._curves.known(device))
        curves = [self._curves.in_window(name, axis, window, columns, device) for name in self._bar.curves]
        self._chart.apply(snapshot, self._names.phases(), self._session.current_step, curves)
        self._chart.show_marks(self._marks.in_window(axis, window, columns, self._bar.marks))
        self._chart.show_found(*self._search.levels(axis, window, columns))
        moment = self._session.moment_ns
        self._chart.show_moment(None if moment is None else axis.of_time(moment))
        self._selected.draw(axis)

    def is_idle(self) -> bool:
        """Return whether every event that arrived is in the picture, and blocks were listed once."""
        busy = self._waiting or self._stacked.is_busy or self._search.is_busy
        return not busy and (self._readout.listed or not len(self._model.live))

    def snapshot(self) -> MemorySnapshot | None:
        """Return what is shown."""
        return self._mover.snapshot

    def show_everything(self) -> None:
        """Show all steps."""
        self._mover.show_steps(0)

    def export(self, path: Path, file_format: str) -> None:
        """Write what is shown; the CSV holds the drawn columns."""
        if file_format != "csv":
            write_picture(self, path, file_format)
            return
        rows = [] if self._mover.snapshot is None else csv_rows(self._mover.snapshot)
        write_csv(path, csv_header(self._bar.axis, self._stacked.column_names()), rows)

    # -- what the person does -------------------------------------------------------------------

    def _on_search(self, text: str) -> None:
        self._search.look_for(text)
        self.refresh()

    def _on_next(self) -> None:
        self._go_to_found(1)

    def _on_previous(self) -> None:
        self._go_to_found(-1)

    def _go_to_found(self, direction: int) -> None:
        found = self._search.next(direction)
        if found is None:
            return
        address, row, begin_ns = found
        self._session.select(Selection(storage=address, alloc_row=row))
        self._mover.go_to(begin_ns)

    def _on_window(self, steps: int) -> None:
        self._mover.show_steps(steps)

    def _on_device(self) -> None:
        self._model = MemoryModel(self._session.store, self._bar.device)
        self._mover.model, self._mover.snapshot = self._model, None
        self._stacked.take(self._model, self._session.store)
        self.refresh()

    def _on_step(self, step: int) -> None:
        if self._session.follow:
            return
        self._mover.follow_step(step)
        if self.isVisible():
            self._later.start()

    def _on_moment(self, moment_ns: int | None) -> None:
        if self.isVisible() and moment_ns is not None:
            self._mover.go_to(moment_ns)
        self._list_later.start()

    def _on_hover_left(self) -> None:
        self._mover.hover_x = None
        self._readout.write()

    def _on_clicked(self, x: float, y: float) -> None:
        self._session.go_to_moment(self._mover.axis.to_ns(round(x * self._chart.units)))
        row = self._readout.event_at(x, y)
        if row < 0:
            self._session.select(NOTHING)
            return
        address = int(self._session.store.tables["alloc"]["address"][row])
        self._session.select(Selection(storage=address, alloc_row=row))

    def _on_listed(self, block: AliveBlock) -> None:
        self._session.select(Selection(storage=block.address, alloc_row=block.row))

    def _on_selection(self, selection: Selection) -> None:
        _, end_ns = self._model.window(MemoryIntent(steps=1, end_step=self._session.current_step))
        self._selected.select(selection, end_ns)
        self._selected.draw(self._mover.axis)

    # -- what is shown --------------------------------------------------------------------------

    def _show_message(self) -> None:
        reading = self._model.progress if self._waiting else None
        self._message.setText(self._texts.missing(self._session.store.hello, reading))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give what stands beside the chart the room that there is."""
        super().resizeEvent(event)
        self._side.set_room(event.size().width(), event.size().height())

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
        self._chart.set_theme(chart_theme(self))
        self._stacked.show()

    def _retranslate(self) -> None:
        self._bar.retranslate()
        self._side.retranslate()
        self._chart.setAccessibleName(self.tr("Live bytes over time, stacked"))
        self._label_axes()
        self._selected.write_line()
        self._stacked.show()
        self._show_message()

    def _label_axes(self) -> None:
        events = self._bar.axis == EVENT
        x = self.tr("Allocator event") if events else self.tr("Time since start (s)")
        self._chart.getPlotItem().setLabel("bottom", x)
        self._chart.getPlotItem().setLabel("left", self.tr("Live allocator bytes"))


def _inset(widget: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setContentsMargins(8, 2, 8, 3)
    row.addWidget(widget)
    return row
