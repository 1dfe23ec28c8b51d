"""Sentences of the memory view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QObject

from tensorscope.core.schema import PHASES
from tensorscope.core.units import MISSING, format_bytes
from tensorscope.models.block_lifetime import BlockEnd, BlockLifetime, lifetime_of_row
from tensorscope.models.memory_marks import ANNOTATION, OOM, SEGMENT_GIVEN, SEGMENT_TAKEN
from tensorscope.models.memory_snapshot import MemorySnapshot, Moment
from tensorscope.models.session_store import SessionStore
from tensorscope.models.stack_labels import StackLabels
from tensorscope.views.names import Names

NS = 1e9


class MemoryTexts(QObject):
    """Turns moments, blocks and what is missing into words."""

    def __init__(self, names: Names, parent: QObject) -> None:
        super().__init__(parent)
        self._names = names

    def moment(self, moment: Moment | None) -> str:
        """Return time, step, phase and total of a moment."""
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

    def allocation(self, store: SessionStore, row: int) -> str:
        """Return what a row of the ``alloc`` table allocates or frees."""
        table = store.tables["alloc"]
        delta = int(table["delta_bytes"][row])
        module = store.string(int(table["module"][row]))
        where = module or StackLabels(store).label(int(table["stack"][row]))
        sign = self.tr("allocates {size}") if delta >= 0 else self.tr("frees {size}")
        category = self._names.categories()[min(int(table["category"][row]), 7)]
        size = sign.format(size=format_bytes(abs(delta)))
        return " · ".join(filter(None, [size, category, where, self._lifetime(store, row, delta >= 0)]))

    def _lifetime(self, store: SessionStore, row: int, begins: bool) -> str:
        block = lifetime_of_row(store, row)
        if block.begin is None:
            return self.tr("there before the recording")
        if block.end is None:
            return self.tr("lost in a gap") if block.lost_t_ns >= 0 else self.tr("still alive")
        lasted = f"{(block.end.t_ns - block.begin.t_ns) / 1e6:,.3f}"
        text = self.tr("freed {time} ms later") if begins else self.tr("after {time} ms")
        return text.format(time=lasted)

    def mark(self, store: SessionStore, kind: int, row: int) -> str:
        """Return what a mark stands for; `row` is of the ``annotation`` or of the ``trace`` table."""
        if kind == ANNOTATION:
            name = store.string(int(store.tables["annotation"]["name"][row]))
            return self.tr("“{name}” begins").format(name=name)
        trace = store.tables["trace"]
        texts = {
            OOM: self.tr("a request of {size} failed"),
            SEGMENT_TAKEN: self.tr("{size} reserved ({action})"),
            SEGMENT_GIVEN: self.tr("{size} given back ({action})"),
        }
        size = format_bytes(int(trace["size_bytes"][row]))
        return texts[kind].format(size=size, action=store.string(int(trace["action"][row])))

    def summary(self, snapshot: MemorySnapshot, mismatch_bytes: int, at_ns: int, at_peak: bool) -> str:
        """Return what the window holds, whether the sums are right, and of which moment the table is."""
        text = self.tr("Allocator bytes, exact · events in view: {events} · peak {peak}").format(
            events=f"{snapshot.events:,}", peak=format_bytes(int(snapshot.peak_bytes.sum()))
        )
        if mismatch_bytes:
            text += " · " + self.tr("differs from the recorder's own total by {size}").format(
                size=format_bytes(mismatch_bytes)
            )
        of = self.tr("table: at the peak") if at_peak else self.tr("table: at {time} s")
        return text + " · " + of.format(time=f"{at_ns / NS:.6f}")

    def block(self, block: BlockLifetime | None, address: int) -> str:
        """Return all that is known of the selected block."""
        if block is None:
            if address:
                return self.tr("No block at 0x{address:x} is known").format(address=address)
            return self.tr("Click the chart to select a block")
        lost = self.tr("lost in a gap") if block.lost_t_ns >= 0 else self.tr("still alive")
        return self.tr("{size} · {category} · {name} · 0x{address:x} · {begin} → {end}").format(
            size=format_bytes(block.size_bytes),
            category=self._names.categories()[min(block.category, 7)],
            name=block.name or block.module or MISSING,
            address=block.address,
            begin=self._end(block.begin, self.tr("before the recording")),
            end=self._end(block.end, lost),
        )

    def _end(self, end: BlockEnd | None, otherwise: str) -> str:
        if end is None:
            return otherwise
        phase = self._names.phases()[end.phase].lower() if end.phase < len(PHASES) else MISSING
        return self.tr("step {step} {phase} {time} s").format(
            step=end.step, phase=phase, time=f"{end.t_ns / NS:.6f}"
        )

    def blocks_heading(self, t_ns: int, at_peak: bool, count: int) -> str:
        """Return the heading of the list of blocks."""
        text = (
            self.tr("{count} blocks alive at the peak ({time} s), largest first")
            if at_peak
            else self.tr("{count} blocks alive at {time} s, largest first")
        )
        return text.format(count=f"{count:,}", time=f"{t_ns / NS:.3f}")

    def missing(self, hello: Mapping[str, Any], reading: float | None) -> str:
        """Return why there is nothing to see, and what to do."""
        if reading is not None:
            return self.tr("Reading memory events: {percent} %").format(percent=f"{100 * reading:.0f}")
        if hello.get("recorder") == "none":
            note = str(hello.get("recorder_note") or "")
            return self.tr("No allocator recorder is running in the target.") + "\n" + note
        if hello.get("level") == "pulse":
            return self.tr("Memory events are recorded from level scope on. Raise the capture level.")
        if hello:
            return self.tr("Waiting for the first memory events.")
        return self.tr("Attach to a program or open a session file to see its memory.")
