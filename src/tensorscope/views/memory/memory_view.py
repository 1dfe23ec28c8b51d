"""Memory over time: live allocator bytes in series, with steps, phases, marks and single blocks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from psygnal import SignalInstance
from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QSplitter, QVBoxLayout, QWidget

from tensorscope.models.block_lifetime import BlockLifetime, followed, lifetime_of_address, lifetime_of_row
from tensorscope.models.block_story import tell_block
from tensorscope.models.grouping import CATEGORY
from tensorscope.models.live_blocks import AliveBlock
from tensorscope.models.memory_axis import EVENT, TIME
from tensorscope.models.memory_curves import MemoryCurves
from tensorscope.models.memory_marks import MemoryMarks
from tensorscope.models.memory_model import MemoryModel
from tensorscope.models.memory_snapshot import ALL_DEVICES, MemoryIntent, MemorySnapshot
from tensorscope.models.selection import NOTHING, Selection
from tensorscope.models.session_model import SessionModel
from tensorscope.views.csv_file import write_csv
from tensorscope.views.items.chart_theme import chart_theme
from tensorscope.views.memory.block_details import BlockDetails
from tensorscope.views.memory.block_list import BlockList
from tensorscope.views.memory.memory_bar import MemoryBar
from tensorscope.views.memory.memory_chart import MemoryChart
from tensorscope.views.memory.memory_csv import csv_header, csv_rows
from tensorscope.views.memory.memory_search import MemorySearch
from tensorscope.views.memory.memory_texts import MemoryTexts
from tensorscope.views.memory.regrouping import Regrouping
from tensorscope.views.memory.series_legend import SeriesLegend
from tensorscope.views.memory.series_names import SeriesNames
from tensorscope.views.names import Names
from tensorscope.views.picture import write_picture
from tensorscope.views.session_view import SessionView

REACH_PX = 4
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
        self._intent = MemoryIntent()
        self._names = Names(self)
        self._series = SeriesNames(self._names, self)
        self._texts = MemoryTexts(self._names, self)
        self._regrouping = Regrouping(self)
        self._search = MemorySearch(self)
        self._take(self._session)
        self._build()
        self._later, self._list_later = self._timer(self.refresh, 0), self._timer(self._show_blocks, LIST_MS)
        self._regrouping.done.connect(self._on_grouped)
        self._search.done.connect(self._on_found)
        self._retheme()
        self._retranslate()

    def _take(self, session: SessionModel) -> None:
        """Begin anew with a session."""
        self._session = session
        self._model = MemoryModel(session.store)
        self._curves, self._marks = MemoryCurves(session.store), MemoryMarks(session.store)
        self._intent = MemoryIntent(steps=self._intent.steps)
        self._snapshot: MemorySnapshot | None = None
        self._block: BlockLifetime | None = None
        self._hover_x: float | None = None
        self._waiting = self._listed = self._began = False
        self._holders_id = -1

    def _timer(self, slot: Callable[[], None], interval_ms: int) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(interval_ms)
        timer.timeout.connect(slot)
        return timer

    def _build(self) -> None:
        self._bar = MemoryBar(self._names, self._series, self)
        self._readout, self._selected = QLabel(self), QLabel(self)
        self._readout.setObjectName("memoryReadout")
        self._selected.setObjectName("memorySelected")
        self._selected.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        for label in (self._readout, self._selected):
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._message = QLabel(self)
        self._message.setObjectName("memoryMessage")
        self._message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._message.setWordWrap(True)
        self._chart = MemoryChart(self)
        self._legend = SeriesLegend(self)
        self._list = BlockList(self._names, self)
        self._details = BlockDetails(self._names, self)
        self._details.hide()
        side = QSplitter(Qt.Orientation.Vertical, self)
        side.setChildrenCollapsible(False)
        for widget in (self._legend, self._list, self._details):
            side.addWidget(widget)
        side.setStretchFactor(1, 1)
        side.setStretchFactor(2, 1)
        middle = QSplitter(Qt.Orientation.Horizontal, self)
        middle.setChildrenCollapsible(False)
        holder = QWidget(self)
        column = QVBoxLayout(holder)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._chart, 1)
        column.addWidget(self._message, 1)
        middle.addWidget(holder)
        middle.addWidget(side)
        middle.setStretchFactor(0, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._bar)
        layout.addLayout(_inset(self._readout))
        layout.addWidget(middle, 1)
        layout.addLayout(_inset(self._selected))
        self._connect()
        self.setFocusProxy(self._chart)

    def _connect(self) -> None:
        chart, bar = self._chart, self._bar
        chart.moved.connect(self._on_moved)
        chart.resized.connect(self._on_resized)
        chart.hovered.connect(self._on_hovered)
        chart.hover_left.connect(self._on_hover_left)
        chart.clicked.connect(self._on_clicked)
        chart.fit_asked.connect(self._on_fit)
        chart.edge_asked.connect(self._on_edge)
        chart.peak_asked.connect(self._on_peak)
        bar.window_chosen.connect(self._on_window)
        bar.group_chosen.connect(self._on_group)
        bar.device_chosen.connect(self._on_device)
        bar.axis_chosen.connect(self._on_axis)
        bar.shown_changed.connect(self.refresh)
        bar.search_changed.connect(self._on_search)
        bar.next_asked.connect(self._on_next)
        self._legend.hidden_changed.connect(self.refresh)
        self._list.chosen.connect(self._on_listed)
        self._details.holders_asked.connect(self._on_holders_asked)

    # -- what the window asks -------------------------------------------------------------------

    def title(self) -> str:
        """Return the translated name of the view."""
        return self.tr("Memory")

    def set_session(self, session: SessionModel) -> None:
        """Show another session."""
        for signal, slot in self._connections():
            signal.disconnect(slot, missing_ok=True)
        self._take(session)
        self._regrouping.set_store(session.store)
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
            (session.reply_received, self._on_reply),
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
        self._begin()
        self._regroup()
        self._show_series()
        self._intent = replace(
            self._intent, columns=self._chart.columns, hidden=self._legend.hidden_series(),
            end_step=self._session.current_step, axis=self._bar.axis,
        )  # fmt: skip
        self._snapshot = self._model.resolve(self._intent)
        self._draw(self._snapshot)
        self._bar.show_window(self._intent.steps, self._intent.window is not None)
        self._bar.set_devices(sorted(self._model.devices))
        self._show_moment()
        self._follow_block()
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
        self._show_lifetime()

    def is_idle(self) -> bool:
        """Return whether every event that arrived is in the picture, and blocks were listed once."""
        busy = self._waiting or self._regrouping.is_busy or self._search.is_busy
        return not busy and (self._listed or not len(self._model.live))

    def snapshot(self) -> MemorySnapshot | None:
        """Return what is shown."""
        return self._snapshot

    def export(self, path: Path, file_format: str) -> None:
        """Write what is shown; the CSV holds the drawn columns."""
        if file_format != "csv":
            write_picture(self, path, file_format)
            return
        series = (
            self._series.ids(None)
            if self._model.grouped is None
            else self._series.series(self._model.grouped)
        )
        rows = [] if self._snapshot is None else csv_rows(self._snapshot)
        write_csv(path, csv_header(self._bar.axis, series), rows)

    # -- grouping and search --------------------------------------------------------------------

    def _regroup(self) -> None:
        if self._bar.group != CATEGORY:
            device = None if self._model.device == ALL_DEVICES else self._model.device
            self._regrouping.keep(self._bar.group, device, self._bar.module_depth)

    def _on_grouped(self, grouped: Any) -> None:
        if self._bar.group == grouped.group:
            self._model.grouped = grouped
            self.refresh()

    def _on_group(self) -> None:
        if self._bar.group == CATEGORY:
            self._regrouping.cancel()
            self._model.grouped = None
        self.refresh()

    def _show_series(self) -> None:
        grouped, theme = self._model.grouped, chart_theme(self)
        colours = list(theme.categories)
        if grouped is not None:
            colours = theme.series(len(grouped.labels), grouped.others > 0)
        heading = self._series.groups()[CATEGORY if grouped is None else grouped.group]
        names, ids = self._series.series(grouped), self._series.ids(grouped)
        order = self._model.order if grouped is not None else tuple(reversed(self._model.order))
        self._legend.set_series(heading, names, ids, colours, order)
        self._chart.set_series_colours(colours)

    def _on_search(self, text: str) -> None:
        self._search.look_for(text)
        self.refresh()

    def _on_found(self) -> None:
        self.refresh()

    def _on_next(self) -> None:
        found = self._search.next()
        if found is None:
            return
        address, row, begin_ns = found
        self._session.select(Selection(storage=address, alloc_row=row))
        self._go_to(begin_ns)

    def _go_to(self, t_ns: int) -> None:
        """Bring a moment into the window, which keeps its width."""
        if self._snapshot is None:
            return
        first, last = self._snapshot.window
        x = self._model.axis(self._bar.axis).of_time(t_ns)
        if not first <= x <= last:
            half = (last - first) // 2
            self._intent = replace(self._intent, window=(x - half, x - half + last - first))
        self.refresh()

    # -- what the person does -------------------------------------------------------------------

    def _on_window(self, steps: int) -> None:
        self._intent = replace(self._intent, steps=steps, window=None)
        self.refresh()

    def _on_device(self) -> None:
        self._model = MemoryModel(self._session.store, self._bar.device)
        self._snapshot = None
        self.refresh()

    def _on_axis(self) -> None:
        self._intent = replace(self._intent, window=None)
        self.refresh()

    def _on_fit(self) -> None:
        self._intent = replace(self._intent, window=None)
        self.refresh()

    def _on_moved(self, first: float, last: float) -> None:
        units = self._chart.units
        self._intent = replace(self._intent, window=(round(first * units), round(last * units)))
        self._later.start()

    def _on_resized(self) -> None:
        self._later.start()

    def _on_edge(self, side: int) -> None:
        if self._snapshot is None:
            return
        first, last = self._model.axis(self._bar.axis).span()
        span = self._snapshot.window[1] - self._snapshot.window[0]
        start = first if side < 0 else max(first, last - span)
        self._intent = replace(self._intent, window=(start, start + span))
        self.refresh()

    def _on_peak(self, direction: int) -> None:
        if self._snapshot is None:
            return
        first, last = self._snapshot.window
        axis = self._model.axis(self._bar.axis)
        here = (first + last) // 2 if self._hover_x is None else round(self._hover_x * self._chart.units)
        peak = axis.of_time(self._model.next_peak(axis.to_ns(here), direction))
        span = last - first
        self._intent = replace(self._intent, window=(peak - span // 2, peak - span // 2 + span))
        self._hover_x = peak / self._chart.units
        self.refresh()

    def _on_step(self, step: int) -> None:
        if self._intent.window is not None and not self._session.follow:
            first, last = self._intent.window
            begin, end = self._model.window(replace(self._intent, window=None, steps=1, end_step=step))
            if end <= first or begin >= last:
                start = (begin + end) // 2 - (last - first) // 2
                self._intent = replace(self._intent, window=(start, start + last - first))
        if self.isVisible() and not self._session.follow:
            self._later.start()

    def _on_moment(self, moment_ns: int | None) -> None:
        if self.isVisible() and moment_ns is not None:
            self._go_to(moment_ns)
        self._list_later.start()

    def _on_hovered(self, x: float, y: float) -> None:
        self._hover_x = x
        self._show_moment(self._chart.series_at(x, y))

    def _on_hover_left(self) -> None:
        self._hover_x = None
        self._show_moment()

    def _event_at(self, x: float, series: int) -> int:
        first, last = self._chart.x_range()
        reach = round((last - first) / self._chart.columns * REACH_PX * self._chart.units)
        return self._model.event_near(round(x * self._chart.units), reach, series, self._bar.axis)

    def _on_clicked(self, x: float, y: float) -> None:
        self._session.go_to_moment(self._model.axis(self._bar.axis).to_ns(round(x * self._chart.units)))
        row = self._event_at(x, self._chart.series_at(x, y))
        if row < 0:
            self._session.select(NOTHING)
            return
        address = int(self._session.store.tables["alloc"]["address"][row])
        self._session.select(Selection(storage=address, alloc_row=row))

    def _on_listed(self, block: AliveBlock) -> None:
        self._session.select(Selection(storage=block.address, alloc_row=block.row))

    def _on_holders_asked(self) -> None:
        if self._block is not None:
            self._holders_id = self._session.send("holders", addresses=[self._block.address])
            self._details.show_asked()

    def _on_reply(self, meta: Mapping[str, Any]) -> None:
        if meta.get("id") == self._holders_id and self._holders_id >= 0:
            self._details.show_holders(meta)

    def _on_selection(self, selection: Selection) -> None:
        store, table = self._session.store, self._session.store.tables["alloc"]
        self._block = None
        if 0 <= selection.alloc_row < len(table):
            self._block = lifetime_of_row(store, selection.alloc_row)
        elif selection.storage:
            _, end_ns = self._model.window(MemoryIntent(steps=1, end_step=self._session.current_step))
            self._block = lifetime_of_address(store, selection.storage, end_ns)
        self._show_block()

    # -- what is shown --------------------------------------------------------------------------

    def _looked_at(self) -> tuple[int, bool]:
        """Return the moment whose blocks are listed, and whether it is the peak in view."""
        assert self._snapshot is not None
        moment = self._session.moment_ns
        axis, (first, last) = self._model.axis(self._snapshot.axis), self._snapshot.window
        if moment is not None and first <= axis.of_time(moment) <= last:
            return moment, False
        return self._snapshot.peak_t_ns, True

    def _show_blocks(self) -> None:
        """List what is alive at the moment that is looked at, else at the peak of the window."""
        if self._snapshot is None:
            return
        self._listed = True
        at_ns, at_peak = self._looked_at()
        blocks, count = self._model.largest_blocks(at_ns)
        heading = self._texts.blocks_heading(at_ns, at_peak, count)
        self._list.set_blocks(heading, blocks, self._session.selection.storage)

    def _follow_block(self) -> None:
        if self._block is None:
            return
        block = followed(self._session.store, self._block)
        if (block.end, block.lost_t_ns) != (self._block.end, self._block.lost_t_ns):
            self._block = block
            self._show_block()
        self._block = block

    def _show_block(self) -> None:
        block, store = self._block, self._session.store
        self._show_lifetime()
        self._selected.setText(self._texts.block(block, self._session.selection.storage))
        story = tell_block(store, block) if block is not None else None
        self._details.show_block(block, story, live=self._session.state == "open")

    def _show_lifetime(self) -> None:
        block = self._block
        if block is None:
            self._chart.show_lifetime(None)
            return
        axis = self._model.axis(self._bar.axis)
        low, high = -1e9 * self._chart.units, 1e9 * self._chart.units
        stop = block.end.t_ns if block.end else block.lost_t_ns
        times = np.array([block.begin.t_ns if block.begin else 0, max(stop, 0)])
        begin, end = axis.of_times(times).tolist()
        self._chart.show_lifetime((begin if block.begin else low, end if stop >= 0 else high))

    def _show_moment(self, series: int = -1) -> None:
        """Say what is under the mouse; without it, what the table's moment is."""
        if self._snapshot is None:
            return
        self._chart.show_cursor(self._hover_x)
        axis = self._model.axis(self._snapshot.axis)
        if self._hover_x is None:
            at_ns, at_peak = self._looked_at()
            moment = self._model.moment(at_ns)
            summary = self._texts.summary(self._snapshot, self._model.mismatch_bytes, at_ns, at_peak)
            self._readout.setText(self._search.summary() or summary)
        else:
            x = round(self._hover_x * self._chart.units)
            moment = self._model.moment(axis.to_ns(x), axis.point_at(x))
            text = self._texts.moment(moment)
            row = self._event_at(self._hover_x, series)
            if row >= 0 and series >= 0:
                text += " · " + self._texts.allocation(self._session.store, row)
            self._readout.setText(text)
        self._legend.set_bytes(None if moment is None else list(moment.series_bytes))

    def _show_message(self) -> None:
        reading = self._model.progress if self._waiting else None
        self._message.setText(self._texts.missing(self._session.store.hello, reading))

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
        self._list.set_colours(theme.categories)
        self._show_series()

    def _retranslate(self) -> None:
        self._bar.retranslate()
        self._legend.retranslate()
        self._details.retranslate()
        self._chart.setAccessibleName(self.tr("Live bytes over time, stacked"))
        events = self._bar.axis == EVENT
        x = self.tr("Allocator event") if events else self.tr("Time since start (s)")
        self._chart.getPlotItem().setLabel("bottom", x)
        self._chart.getPlotItem().setLabel("left", self.tr("Live allocator bytes"))
        self._selected.setText(self._texts.block(self._block, self._session.selection.storage))
        self._show_series()
        self._show_message()


def _inset(widget: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setContentsMargins(8, 2, 8, 3)
    row.addWidget(widget)
    return row
