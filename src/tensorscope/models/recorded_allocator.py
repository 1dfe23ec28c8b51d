"""What a session's CUDA allocator really held: at the beginning, and how much at every request."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.allocator_settings import LARGE_SEGMENT_BYTES, SMALL_SEGMENT_BYTES
from tensorscope.compute.allocator_state import AllocatorState, Segment
from tensorscope.core.schema import BLOCK_STATES
from tensorscope.models.allocations import ALIVE, Allocations
from tensorscope.models.allocator_requests import Recording
from tensorscope.models.frozen_store import StoreLike
from tensorscope.models.session_store import Record

Longs = NDArray[np.int64]

_SIGN = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}


class RecordedAllocator:
    """Reads the newest ``segments`` record of a session backwards through the allocator's trace."""

    def __init__(self, store: StoreLike, blocks: Allocations, recording: Recording) -> None:
        self._store, self._blocks, self._recording = store, blocks, recording
        trace = store.tables["trace"]
        names = {int(a): store.string(int(a)) for a in np.unique(trace["action"])}
        moves = np.isin(trace["action"], [a for a, name in names.items() if name in _SIGN])
        self._rows = np.flatnonzero(moves & (trace["device"] == recording.device))
        self._names = [names[int(a)] for a in trace["action"][self._rows]]

    @property
    def record(self) -> Record | None:
        """The newest state that the session holds."""
        records = self._store.records("segments")
        return records[-1] if records else None

    def reserved_after(self) -> Longs | None:
        """Return the bytes reserved after each request; None where no state is known."""
        record = self.record
        if record is None or not self._recording.traced:
            return None
        trace = self._store.tables["trace"]
        change = trace["size_bytes"][self._rows] * [_SIGN[name] for name in self._names]
        known = self._rows < int(record.meta.get("trace_rows", len(trace)))
        mine = record.columns["segment_device"] == self._recording.device
        start = int(record.columns["segment_bytes"][mine].sum()) - int(change[known].sum())
        after = np.append(start, start + np.cumsum(change)).astype(np.int64)
        gets = np.array([_SIGN[name] > 0 for name in self._names], bool)
        happened = trace["alloc_row"][self._rows] * 2 + gets  # what it gets is for the next allocation
        return after[np.searchsorted(happened, self._recording.position, side="right")]

    def state_at_start(self) -> AllocatorState | None:
        """Return segments and blocks before the first event; None where no state is known."""
        record = self.record
        if record is None or not self._recording.traced:
            return None
        requests, blocks = self._recording.requests, self._blocks
        number = requests.block[: requests.listed]
        later = np.flatnonzero((blocks.from_row > 0) & (blocks.device == self._recording.device))
        later = later[np.argsort(blocks.address[later], kind="stable")]
        return AllocatorState(
            segments=tuple(_segments_before(self._undone(record), record, self._store, self._recording)),
            block=number, address=blocks.address[number], requested_bytes=blocks.size_bytes[number],
            block_bytes=self._known_bytes(record, number), mapped=self._mapped(),
            freed_at=blocks.until_row[number],
            starts=blocks.address[later].tolist(), started_at=blocks.from_row[later].tolist(),
        )  # fmt: skip

    def _undone(self, record: Record) -> list[tuple[str, Segment]]:
        """Return what happened to segments before `record`, the newest first."""
        trace = self._store.tables["trace"]
        rows = int(record.meta.get("trace_rows", len(trace)))
        found = []
        for row, name in zip(self._rows.tolist(), self._names, strict=True):
            if row < rows:
                found.append((name, self._segment(row, name)))
        return found[::-1]

    def _mapped(self) -> tuple[Segment, ...]:
        moves = zip(self._rows.tolist(), self._names, strict=True)
        return tuple(self._segment(row, name) for row, name in moves if name == "segment_map")

    def _segment(self, row: int, name: str) -> Segment:
        trace, store = self._store.tables["trace"], self._store
        size, expandable = int(trace["size_bytes"][row]), name in ("segment_map", "segment_unmap")
        large = size % LARGE_SEGMENT_BYTES == 0 if expandable else size != SMALL_SEGMENT_BYTES
        pool = store.string(int(trace["pool"][row]))
        address, stream = int(trace["address"][row]), int(trace["stream"][row])
        return Segment(address, size, pool, stream, large, expandable)

    def _known_bytes(self, record: Record, number: Longs) -> Longs:
        """Return how large blocks lie, of those that live until `record`; 0 for the others."""
        columns, blocks = record.columns, self._blocks
        used = columns["block_state"] != BLOCK_STATES.index("inactive")
        used &= columns["segment_device"][columns["block_segment"]] == self._recording.device
        address, size = columns["block_address"][used], columns["block_bytes"][used]
        order = np.argsort(address, kind="stable")
        address, size = address[order], size[order]
        if not len(address):
            return np.zeros(len(number), np.int64)
        at = np.clip(np.searchsorted(address, blocks.address[number]), 0, len(address) - 1)
        lives = (address[at] == blocks.address[number]) & (blocks.until_row[number] == ALIVE)
        return np.where(lives, size[at], 0)


def _segments_before(
    undone: list[tuple[str, Segment]], record: Record, store: StoreLike, recording: Recording
) -> list[Segment]:
    columns = record.columns
    mine = np.flatnonzero(columns["segment_device"] == recording.device)
    fixed: dict[int, Segment] = {}
    pages: list[Segment] = []
    for index in mine.tolist():
        segment = Segment(
            int(columns["segment_address"][index]), int(columns["segment_bytes"][index]),
            store.string(int(columns["segment_pool"][index])), int(columns["segment_stream"][index]),
            bool(columns["segment_large"][index]), bool(columns["segment_expandable"][index]),
        )  # fmt: skip
        if segment.expandable:
            pages.append(segment)
        else:
            fixed[segment.address] = segment
    for name, segment in undone:
        if name == "segment_alloc":
            fixed.pop(segment.address, None)
        elif name == "segment_free":
            fixed[segment.address] = segment
        elif name == "segment_map":
            pages = _without(pages, segment)
        else:
            pages.append(_like_neighbours(pages, segment))
    return [*fixed.values(), *pages]


def _without(pages: list[Segment], gone: Segment) -> list[Segment]:
    """Return ranges of pages without those of `gone`."""
    kept = []
    end = gone.address + gone.size_bytes
    for one in pages:
        one_end = one.address + one.size_bytes
        if one_end <= gone.address or end <= one.address:
            kept.append(one)
            continue
        for begin, stop in ((one.address, gone.address), (end, one_end)):
            if begin < stop:
                kept.append(Segment(begin, stop - begin, one.pool, one.stream, one.is_large, True))
    return kept


def _like_neighbours(pages: list[Segment], segment: Segment) -> Segment:
    """Return `segment` as small if it touches small pages: ten of them are as long as a large one."""
    begin, end = segment.address, segment.address + segment.size_bytes
    touching = [one for one in pages if one.address == end or one.address + one.size_bytes == begin]
    return replace(segment, is_large=segment.is_large and all(one.is_large for one in touching))
