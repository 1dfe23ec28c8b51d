"""Memory over time: live allocator bytes by category, with steps, phases and single blocks."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from psygnal import SignalInstance
from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from tensorscope.core.schema import CATEGORIES, PHASES
from tensorscope.core.units import MISSING, format_bytes
from tensorscope.models.block_lifetime import (
    BlockEnd,
    BlockLifetime,
    followed,
    lifetime_of_address,
    lifetime_of_row,
)
from tensorscope.models.memory_model import ALL_DEVICES, MemoryIntent, MemoryModel, MemorySnapshot, Moment
from tensorscope.models.selection import NOTHING, Selection
from tensorscope.models.session_model import SessionModel
from tensorscope.views.items.chart_theme import chart_theme
from tensorscope.views.memory.category_legend import CategoryLegend
from tensorscope.views.memory.memory_chart import NS, MemoryChart
from tensorscope.views.names import Names
from tensorscope.views.session_view import SessionView

WINDOWS = (1, 5, 20, 0)
REACH_PX = 4
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
        self._build()
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.timeout.connect(self.refresh)
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
        self._selected = QLabel(self)
        self._selected.setObjectName("memorySelected")
        self._selected.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._selected.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        bar = QHBoxLayout()
        bar.setContentsMargins(8, 4, 8, 4)
        for widget in (self._window, self._device, self._rss):
            bar.addWidget(widget)
        bar.addWidget(self._readout, 1)
        middle = QHBoxLayout()
        middle.addWidget(self._chart, 1)
        middle.addWidget(self._message, 1)
        middle.addWidget(self._legend)
        bottom = QHBoxLayout()
        bottom.setContentsMargins(8, 2, 8, 4)
        bottom.addWidget(self._selected)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(bar)
        layout.addLayout(middle, 1)
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
        self._snapshot, self._block, self._hover_x = None, None, None
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

    def is_idle(self) -> bool:
        """Return whether every event that arrived is in the picture."""
        return not self._waiting

    def snapshot(self) -> MemorySnapshot | None:
        """Return what is shown."""
        return self._snapshot

    def export(self, path: Path, file_format: str) -> None:
        """Write what is shown."""
        if file_format == "csv":
            self._write_csv(path)
        else:
            raise OSError(f"cannot write {file_format}")

    def _write_csv(self, path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(csv_header())
            if self._snapshot is not None:
                writer.writerows(csv_rows(self._snapshot))

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
        first, last = self._chart.x_range()
        reach_ns = round((last - first) / self._chart.columns * REACH_PX * NS)
        row = self._model.event_near(round(x * NS), reach_ns, self._chart.category_at(x, y))
        if row < 0:
            self._session.select(NOTHING)
            return
        address = int(self._session.store.tables["alloc"]["address"][row])
        self._session.select(Selection(storage=address, alloc_row=row))

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
        self._selected.setText(self._block_text(self._session.selection))

    # -- texts ----------------------------------------------------------------------------------

    def _show_moment(self) -> None:
        if self._snapshot is None:
            return
        self._chart.show_cursor(self._hover_x)
        at_ns = self._snapshot.window_ns[1] if self._hover_x is None else round(self._hover_x * NS)
        moment = self._model.moment(at_ns)
        self._legend.set_bytes(None if moment is None else list(moment.category_bytes))
        self._readout.setText(self._moment_text(moment) if self._hover_x is not None else self._summary())

    def _moment_text(self, moment: Moment | None) -> str:
        if moment is None:
            return self.tr("Nothing is known of this time")
        phases = self._names.phases()
        parts = [f"{moment.t_ns / NS:.6f} s"]
        if moment.step >= 0:
            parts.append(self.tr("step {step}").format(step=moment.step))
        if 0 <= moment.phase < len(phases):
            parts.append(phases[moment.phase].lower())
        parts.append(self.tr("total {size}").format(size=format_bytes(moment.total_bytes)))
        return " · ".join(parts)

    def _summary(self) -> str:
        assert self._snapshot is not None
        text = self.tr("Allocator bytes, exact: {events} events in view, peak {peak}").format(
            events=f"{self._snapshot.events:,}", peak=format_bytes(int(self._snapshot.peak_bytes.sum()))
        )
        if self._model.mismatch_bytes:
            text += " · " + self.tr("differs from the recorder's own total by {size}").format(
                size=format_bytes(self._model.mismatch_bytes)
            )
        return text

    def _block_text(self, selection: Selection) -> str:
        block = self._block
        if block is None:
            if selection.storage:
                return self.tr("No block at 0x{address:x} is known").format(address=selection.storage)
            return self.tr("Click the chart to select a block")
        name = block.name or block.module or MISSING
        return self.tr("{size} · {category} · {name} · 0x{address:x} · {begin} → {end}").format(
            size=format_bytes(block.size_bytes), category=self._names.categories()[block.category],
            name=name, address=block.address,
            begin=self._end_text(block.begin, self.tr("before the recording")),
            end=self._end_text(
                block.end, self.tr("lost in a gap") if block.lost_t_ns >= 0 else self.tr("still alive")
            ),
        )  # fmt: skip

    def _end_text(self, end: BlockEnd | None, otherwise: str) -> str:
        if end is None:
            return otherwise
        phase = self._names.phases()[end.phase].lower() if end.phase < len(PHASES) else MISSING
        return self.tr("step {step} {phase} {time} s").format(
            step=end.step, phase=phase, time=f"{end.t_ns / NS:.6f}"
        )

    def _show_message(self) -> None:
        hello = self._session.store.hello
        if self._waiting:
            text = self.tr("Reading memory events: {percent} %").format(
                percent=f"{100 * self._model.progress:.0f}"
            )
        elif hello.get("recorder") == "none":
            text = self.tr("No allocator recorder is running in the target.")
            text += "\n" + str(hello.get("recorder_note") or "")
        elif hello.get("level") == "pulse":
            text = self.tr("Memory events are recorded from level scope on. Raise the capture level.")
        elif hello:
            text = self.tr("Waiting for the first memory events.")
        else:
            text = self.tr("Attach to a program or open a session file to see its memory.")
        self._message.setText(text)

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
        self._selected.setText(self._block_text(self._session.selection))
        self._show_message()


def csv_header() -> list[str]:
    """Return the header of `csv_rows`, with units."""
    return ["t0_s", "t1_s", "total_max_bytes", "total_min_bytes", *(f"{name}_bytes" for name in CATEGORIES)]


def csv_rows(snapshot: MemorySnapshot) -> list[list[float | int]]:
    """Return one row a drawn column: what is on the screen, hidden categories as 0."""
    numbers = np.column_stack([snapshot.high_bytes, snapshot.low_bytes, snapshot.category_bytes]).tolist()
    times = zip((snapshot.t0_ns / NS).tolist(), (snapshot.t1_ns / NS).tolist(), strict=True)
    return [[*span, *row] for span, row in zip(times, numbers, strict=True)]
