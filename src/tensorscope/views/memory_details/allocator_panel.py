"""The caching allocator at the moment looked at: segments, blocks, and how they fit; and over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSplitter, QVBoxLayout, QWidget

from tensorscope.core.units import format_bytes
from tensorscope.models.allocator_history import AllocatorHistory
from tensorscope.models.allocator_state import (
    AllocatorState,
    Domain,
    Fragmentation,
    allocator_state,
    domains,
    fragmentation,
)
from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.selection import Selection
from tensorscope.models.session_model import SessionModel
from tensorscope.views.items.chart_theme import chart_theme
from tensorscope.views.items.rows_table import BYTES, COUNT, TEXT, RowsTable
from tensorscope.views.memory_details.computed_panel import ComputedPanel
from tensorscope.views.memory_details.fragmentation_chart import FragmentationChart
from tensorscope.views.memory_details.segment_map import SegmentMap
from tensorscope.views.names import Names

SAMPLES = 400


@dataclass(frozen=True, eq=False)
class _Answer:
    history: AllocatorHistory
    over_time: Fragmentation
    devices: tuple[int, ...]
    device: int


class AllocatorPanel(ComputedPanel):
    """The numbers above; segments, domains and the chart below each other."""

    panel_id: ClassVar[str] = "state"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("allocatorPanel")
        self._names = Names(self)
        self._state: AllocatorState | None = None
        self._device_box = QComboBox(self)
        self._device_box.setObjectName("allocatorDevice")
        self._device_box.activated.connect(self._on_device)
        self._numbers, self._legend = QLabel(self), QLabel(self)
        self._numbers.setObjectName("allocatorNumbers")
        for label in (self._numbers, self._legend):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.RichText)
        self._map = SegmentMap(self)
        self._map.block_clicked.connect(self._on_block)
        self._domains = RowsTable("domains", (TEXT, TEXT, COUNT, BYTES, BYTES, BYTES, BYTES, BYTES), self)
        self._domains.filter.hide()
        self._chart = FragmentationChart(self)
        self._chart.clicked.connect(self._on_clicked)
        top = QHBoxLayout()
        top.setContentsMargins(8, 4, 8, 0)
        top.addWidget(self._device_box, 0, Qt.AlignmentFlag.AlignTop)
        top.addWidget(self._numbers, 1)
        legend = QHBoxLayout()
        legend.setContentsMargins(8, 0, 8, 2)
        legend.addWidget(self._legend)
        split = QSplitter(Qt.Orientation.Vertical, self.body)
        split.setChildrenCollapsible(False)
        for widget, size in ((self._map, 360), (self._domains, 150), (self._chart, 240)):
            split.addWidget(widget)
            split.setStretchFactor(split.count() - 1, size)
        split.setSizes([360, 150, 240])
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(top)
        layout.addLayout(legend)
        layout.addWidget(split, 1)

    def set_session(self, session: SessionModel) -> None:
        """Show another session."""
        for signal, slot in self._connections():
            signal.disconnect(slot, missing_ok=True)
        super().set_session(session)
        for signal, slot in self._connections():
            signal.connect(slot)

    def _connections(self) -> tuple[tuple[Any, Any], ...]:
        session = self.session
        return (session.moment_changed, self._on_moment), (session.selection_changed, self._on_selection)

    def key(self) -> tuple[object, ...]:
        """Return the chosen device."""
        return (self._device_box.currentData(),)

    def compute(self, store: FrozenStore) -> _Answer | None:
        """Return the allocator's history, and its state at sampled moments."""
        history = AllocatorHistory(store)
        if not history.events and history.final is None:
            return None
        devices = tuple(sorted(set(history.segments.device.tolist()) | set(history.blocks.device.tolist())))
        chosen = self._wanted
        device = chosen if chosen in devices else devices[0] if devices else 0
        return _Answer(history, fragmentation(history, SAMPLES, device), devices, device)

    @property
    def _wanted(self) -> int:
        key = self._asked[0] if self._asked else None
        return key if isinstance(key, int) else -1

    def missing_text(self) -> str:
        """Return why there is nothing."""
        return self.tr(
            "This session has no state of CUDA's caching allocator. It comes from a memory "
            "snapshot, or from a "
            "program on a CUDA device. The CPU's allocator keeps no segments: see What would fit "
            "for what this "
            "program would need on a device."
        )

    def show_answer(self) -> None:
        """Show the chosen moment, and the history."""
        answer: _Answer = self.answer
        if [self._device_box.itemData(i) for i in range(self._device_box.count())] != list(answer.devices):
            self._device_box.clear()
            for device in answer.devices:
                self._device_box.addItem(self._names.device(device), device)
        self._device_box.setCurrentIndex(max(0, self._device_box.findData(answer.device)))
        self._device_box.setVisible(len(answer.devices) > 1)
        self._chart.show_history(answer.over_time)
        self._show_state()

    def _show_state(self) -> None:
        answer: _Answer = self.answer
        moment = self.session.moment_ns
        event = answer.history.events - 1 if moment is None else answer.history.event_at(moment)
        state = self._state = allocator_state(answer.history, event, answer.device)
        self._map.show_state(answer.history, state)
        self._map.select(self.session.selection.storage)
        self._chart.show_moment(moment)
        self._numbers.setText(self._numbers_text(state, moment))
        self._domains.set_rows([self._domain_row(one) for one in domains(answer.history, state)])

    def _numbers_text(self, state: AllocatorState, moment: int | None) -> str:
        when = (
            self.tr("At the end")
            if moment is None
            else self.tr("At {time} s").format(time=f"{moment / 1e9:.6f}")
        )
        if self.answer.history.notes == ("no_trace",):
            when = self.tr("At the end (the file has no history)")
        parts = [
            (self.tr("reserved"), state.reserved_bytes), (self.tr("in use"), state.used_bytes),
            (self.tr("waiting for a stream"), state.pending_bytes), (self.tr("idle"), state.idle_bytes),
            (self.tr("largest free block"), state.largest_free_bytes),
            (self.tr("releasable by empty_cache"), state.releasable_bytes),
            (self.tr("pinned by little"), state.pinned_bytes),
            (self.tr("lost to rounding"), state.rounding_bytes),
        ]  # fmt: skip
        texts = [f"{name} <b>{format_bytes(size)}</b>" for name, size in parts]
        return f"<b>{when}</b>: " + " · ".join(texts)

    def _domain_row(self, one: Domain) -> tuple[Any, ...]:
        pool = one.pool or self.tr("default")
        where = self.tr("large") if one.large else self.tr("small")
        return (
            self.tr("stream {stream}, pool {pool}").format(stream=one.stream, pool=pool), where, one.segments,
            one.reserved_bytes, one.used_bytes, one.pending_bytes, one.free_bytes, one.largest_free_bytes,
        )  # fmt: skip

    def retranslate(self) -> None:
        """Set every text again."""
        super().retranslate()
        headers = [
            self.tr("Domain"), self.tr("Kind"), self.tr("Segments"), self.tr("Reserved"), self.tr("In use"),
            self.tr("Waiting"), self.tr("Free"), self.tr("Largest free"),
        ]  # fmt: skip
        self._domains.set_texts(headers, "")
        self._domains.heading.setText(
            self.tr("A request is served from the free blocks of its own domain only.")
        )
        self._chart.getPlotItem().setLabel("bottom", self.tr("Time since start (s)"))
        self._chart.getPlotItem().setLabel("left", self.tr("Allocator bytes"))
        self._show_legend()

    def _show_legend(self) -> None:
        theme = chart_theme(self)
        colours = theme.categories
        entries = [
            ("■", colours[0], self.tr("in use")), ("▨", colours[1], self.tr("waits for a stream")),
            ("■", colours[6], self.tr("rounding")), ("—", colours[7], self.tr("reserved")),
            ("—", colours[0], self.tr("in use")), ("—", colours[5], self.tr("largest free block")),
            ("—", colours[1], self.tr("pinned by little")),
        ]  # fmt: skip
        texts = [f'<span style="color:{c.name()}">{sign}</span> {name}' for sign, c, name in entries]
        map_text, chart_text = "&nbsp; ".join(texts[:3]), "&nbsp; ".join(texts[3:])
        sampled = self.tr("over time, at {count} sampled moments").format(count=SAMPLES)
        self._legend.setText(f"{self.tr('Segments')}: {map_text} &nbsp;&nbsp; {sampled}: {chart_text}")

    def retheme(self) -> None:
        """Take the colours of the palette."""
        self._chart.retheme()
        self._show_legend()
        self._map.viewport().update()

    def csv_table(self) -> tuple[list[str], list[list[Any]]]:
        """Return the blocks of the state that is shown."""
        header = ["segment", "address", "bytes", "requested_bytes", "state", "stream", "pool", "device"]
        if self.answer is None or self._state is None:
            return header, []
        b, state, store = self.answer.history.blocks, self._state, self.answer.history.store
        rows = [
            [int(owner), f"0x{int(b.address[block]):x}", int(b.bytes[block]), int(b.requested_bytes[block]),
             "active_pending_free" if pending else "active_allocated", int(b.stream[block]),
             store.string(int(b.pool[block])), int(b.device[block])]
            for block, owner, pending in zip(
                state.blocks.tolist(), state.block_segment.tolist(), state.pending.tolist(), strict=True
            )
        ]  # fmt: skip
        return header, rows

    def _on_device(self) -> None:
        self.refresh()

    def _on_moment(self, _moment: object) -> None:
        if self.answer is not None and self.isVisible():
            self._show_state()

    def _on_selection(self, selection: Selection) -> None:
        self._map.select(selection.storage)

    def _on_block(self, block: int) -> None:
        self.session.select(Selection(storage=int(self.answer.history.blocks.address[block])))

    def _on_clicked(self, x: float, y: float) -> None:
        self.session.go_to_moment(round(x * 1e9))
