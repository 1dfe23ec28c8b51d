"""The life of CUDA's caching allocator from a trace and its final state: what it held at any event.

Blocks and segments are intervals of events, so the state at an event is a comparison over columns, not a
replay. Sizes of blocks that died before the end are what was asked for, rounded as the allocator rounds
(512 bytes); those that are alive at the end have the size that the file gives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.lifetimes import ALLOCATED, FREED, LISTED, NONE, pair_lifetimes
from tensorscope.core.schema import BLOCK_STATES
from tensorscope.models.frozen_store import StoreLike
from tensorscope.models.session_store import Record

Longs = NDArray[np.int64]

FOREVER = np.iinfo(np.int64).max
ROUND_BYTES = 512
TAKES, GIVES = ("segment_alloc", "segment_map"), ("segment_free", "segment_unmap")
_INACTIVE, ACTIVE, PENDING = range(len(BLOCK_STATES))


@dataclass(frozen=True, eq=False)
class BlockSpans:
    """Blocks of the allocator: alive after events ``begin <= event < end``; pending from `requested` on.

    An event of -1 is the state before the first.
    """

    address: NDArray[np.uint64]
    bytes: Longs
    requested_bytes: Longs
    device: Longs
    stream: Longs
    pool: Longs
    stack: Longs
    begin: Longs
    requested: Longs
    end: Longs


@dataclass(frozen=True, eq=False)
class SegmentSpans:
    """Segments, or the mapped ranges of expandable ones: there after events ``begin <= event < end``."""

    address: NDArray[np.uint64]
    bytes: Longs
    device: Longs
    stream: Longs
    pool: Longs
    large: NDArray[np.bool_]
    expandable: NDArray[np.bool_]
    stack: Longs
    begin: Longs
    end: Longs


class AllocatorHistory:
    """Blocks and segments of one session with a trace or a final state. Any thread, on a frozen store.

    Attributes
    ----------
    events
        How many events the trace has.
    notes
        Codes of what is not known: ``no_state`` (sizes of segments), ``no_trace`` (only the end).
    """

    def __init__(self, store: StoreLike) -> None:
        self.store = store
        self.events = len(store.tables["trace"])
        self.code = _action_codes(store)
        records = store.records("segments")
        self.final: Record | None = records[-1] if records else None
        self.blocks = self._find_blocks()
        self.segments = self._find_segments()
        self.notes = tuple(
            code for code, holds in (("no_state", self.final is None), ("no_trace", not self.events)) if holds
        )

    @property
    def t_ns(self) -> Longs:
        """Time of each event, ns since the origin."""
        return self.store.tables["trace"]["t_ns"] - self.store.origin_ns

    def event_at(self, t_ns: int) -> int:
        """Return the last event at or before a moment; -1 before the first."""
        return int(np.searchsorted(self.t_ns, t_ns, side="right")) - 1

    def _find_blocks(self) -> BlockSpans:
        trace, final = self.store.tables["trace"], self._final_blocks()
        frees = (
            "free_completed" if (self.code["free_completed"] | self.code["free"]).any() else "free_requested"
        )
        freed = self.code[frees] | self.code["free"]
        at = np.flatnonzero(self.code["alloc"] | freed)
        kind = np.where(freed[at], FREED, ALLOCATED).astype(np.uint8)
        count, listed = len(at), len(final["address"])
        address = np.concatenate([trace["address"][at], final["address"]])
        size = np.concatenate([trace["size_bytes"][at], final["requested_bytes"]])
        device = np.concatenate([trace["device"][at], final["device"]]).astype(np.int64)
        kinds = np.concatenate([kind, np.full(listed, LISTED, np.uint8)])
        pairs = pair_lifetimes(address, size, device, kinds)
        place = np.concatenate([at, np.full(listed, self.events)])  # the final state stands behind all events
        begin_item, end_item = pairs.begin, pairs.end
        unseen = kinds[begin_item] != ALLOCATED
        begin = np.where(unseen, -1, place[begin_item])
        end = np.where(end_item == NONE, FOREVER, place[np.maximum(end_item, 0)])
        end = np.where((kinds[begin_item] == FREED) & (end_item == begin_item), place[begin_item], end)
        gone = (end == FOREVER) & (listed > 0)
        seen_at_end = np.zeros(len(pairs), bool)
        seen_at_end[pairs.owner[count:]] = True
        end = np.where(gone & ~seen_at_end, self.events, end)
        rounded = -(-size[begin_item] // ROUND_BYTES) * ROUND_BYTES
        rounded[pairs.owner[count:]] = final["bytes"]
        stream, pool, stack = (
            np.concatenate([trace[name][at], final[name]])[begin_item].astype(np.int64)
            for name in ("stream", "pool", "stack")
        )
        where = address[begin_item], device[begin_item]
        requested = self._requested(*where, begin, end)
        return BlockSpans(
            where[0], rounded, size[begin_item], where[1], stream, pool, stack, begin, requested, end
        )

    def _final_blocks(self) -> dict[str, NDArray[np.generic]]:
        if self.final is None:
            empty = np.empty(0, np.int64)
            names = ("bytes", "requested_bytes", "device", "stream", "pool", "stack")
            return {"address": np.empty(0, np.uint64), **dict.fromkeys(names, empty)}
        columns = self.final.columns
        at = np.flatnonzero(columns["block_state"] != _INACTIVE)
        owner = columns["block_segment"][at]
        return {
            "address": columns["block_address"][at], "bytes": columns["block_bytes"][at],
            "requested_bytes": columns["block_requested_bytes"][at], "stack": columns["block_stack"][at],
            **{name: columns[f"segment_{name}"][owner] for name in ("device", "stream", "pool")},
        }  # fmt: skip

    def _requested(self, address: NDArray[np.uint64], device: Longs, begin: Longs, end: Longs) -> Longs:
        """Return the event that asked for each block's free: the last such event in its life."""
        trace = self.store.tables["trace"]
        asks = np.flatnonzero(self.code["free_requested"])
        if not len(asks):
            return end
        key = trace["address"][asks] ^ (
            (trace["device"][asks].astype(np.int64) + 1).astype(np.uint64) << np.uint64(58)
        )
        order = np.lexsort((asks, key))
        key, asks = key[order], asks[order]
        mine = address ^ ((device + 1).astype(np.uint64) << np.uint64(58))
        low, high = np.searchsorted(key, mine, side="left"), np.searchsorted(key, mine, side="right")
        found = end.copy()
        for block in np.flatnonzero(high > low).tolist():
            own = asks[low[block] : high[block]]
            at = int(np.searchsorted(own, min(int(end[block]), self.events), side="right")) - 1
            if at >= 0 and own[at] > begin[block]:
                found[block] = own[at]
        return found

    def _find_segments(self) -> SegmentSpans:
        """Return the segments that there ever were, from the final ones back through the trace."""
        found = _SegmentReplay(self)
        return found.spans()

    def state_after(self, event: int) -> tuple[Longs, Longs]:
        """Return the indices of the blocks and of the segments that are there after `event`."""
        blocks, segments = self.blocks, self.segments
        return (
            np.flatnonzero((blocks.begin <= event) & (blocks.end > event)),
            np.flatnonzero((segments.begin <= event) & (segments.end > event)),
        )


class _SegmentReplay:
    """Walks the segment events backwards; there are few of them."""

    def __init__(self, history: AllocatorHistory) -> None:
        self.history = history
        self.rows: list[tuple[int, int, int, int, int, bool, bool, int, int, int]] = []
        self.open: dict[tuple[int, int], tuple[int, int, int, bool, bool, int, int]] = {}

    def spans(self) -> SegmentSpans:
        final, trace = self.history.final, self.history.store.tables["trace"]
        if final is not None:
            columns = final.columns
            for values in zip(
                *(columns[f"segment_{name}"].tolist() for name in
                  ("device", "address", "bytes", "stream", "pool", "large", "expandable", "stack")),
                strict=True,
            ):  # fmt: skip
                device, address, size, stream, pool, large, expandable, stack = values
                self.open[device, address] = (
                    size,
                    stream,
                    pool,
                    bool(large),
                    bool(expandable),
                    stack,
                    FOREVER,
                )
        taken, given = (self._mask(names) for names in (TAKES, GIVES))
        for event in np.flatnonzero(taken | given)[::-1].tolist():
            device, address, size = (int(trace[name][event]) for name in ("device", "address", "size_bytes"))
            if taken[event]:
                self._taken(event, device, address, size)
            else:
                stream, pool, stack = (int(trace[name][event]) for name in ("stream", "pool", "stack"))
                mapped = bool(self.history.code["segment_unmap"][event])
                self.open[device, address] = (size, stream, pool, size > 2 << 20, mapped, stack, event)
        for (device, address), (size, stream, pool, large, expandable, stack, end) in self.open.items():
            self.rows.append((device, address, size, stream, pool, large, expandable, stack, -1, end))
        return self._columns()

    def _mask(self, names: tuple[str, ...]) -> NDArray[np.bool_]:
        found = np.zeros(self.history.events, bool)
        for name in names:
            found |= self.history.code[name]
        return found

    def _taken(self, event: int, device: int, address: int, size: int) -> None:
        """Before this event the range was not there: cut it out of what holds it."""
        for key in [k for k in self.open if k[0] == device and k[1] < address + size]:
            held = self.open[key]
            start, stop = key[1], key[1] + held[0]
            if stop <= address:
                continue
            del self.open[key]
            low, high = max(start, address), min(stop, address + size)
            self.rows.append((device, low, high - low, *held[1:6], event, held[6]))
            if start < address:
                self.open[device, start] = (address - start, *held[1:])
            if stop > address + size:
                self.open[device, address + size] = (stop - address - size, *held[1:])

    def _columns(self) -> SegmentSpans:
        self.rows.sort(key=lambda row: (row[0], row[1], row[8]))
        columns = list(zip(*self.rows, strict=True)) if self.rows else [()] * 10
        device, address, size, stream, pool, large, expandable, stack, begin, end = columns
        longs = [np.array(column, np.int64) for column in (size, device, stream, pool, stack, begin, end)]
        return SegmentSpans(
            np.array(address, np.uint64), longs[0], longs[1], longs[2], longs[3], np.array(large, bool),
            np.array(expandable, bool), longs[4], longs[5], longs[6],
        )  # fmt: skip


def _action_codes(store: StoreLike) -> dict[str, NDArray[np.bool_]]:
    """Return, for each action the allocator knows, which events are it."""
    action = store.tables["trace"]["action"]
    ids, inverse = np.unique(action, return_inverse=True)
    names = [store.string(int(one)) for one in ids]
    wanted = ("alloc", "free", "free_requested", "free_completed", "oom", *TAKES, *GIVES)
    found = {}
    for name in wanted:
        match = np.array([text == name for text in names], bool)
        found[name] = match[inverse] if len(ids) else np.zeros(0, bool)
    return found
