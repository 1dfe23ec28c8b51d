"""What the caching allocator holds at one event: segments, blocks, free ranges, and how they fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorscope.models.allocator_history import AllocatorHistory

Longs = NDArray[np.int64]

PINNED_SHARE = 0.1
"""A segment of which less than this share is in use is pinned by what is in it."""


@dataclass(frozen=True)
class Domain:
    """Blocks of one domain can only be served from its own free ranges."""

    device: int
    stream: int
    pool: str
    large: bool
    reserved_bytes: int
    used_bytes: int
    pending_bytes: int
    free_bytes: int
    largest_free_bytes: int
    segments: int


@dataclass(frozen=True, eq=False)
class AllocatorState:
    """The state after one event (-1: before the first). All sizes are rounded ones but `requested_bytes`.

    Attributes
    ----------
    segments, blocks
        Indices into the history's spans, by address.
    block_segment
        For each block, its place in `segments`; -1 where no known segment holds it.
    free_segment, free_address, free_bytes
        Free ranges, by segment and address.
    used_bytes, pending_bytes
        Handed out; of that, freed by the program but still waited for by another stream.
    releasable_bytes
        In segments in which nothing lives: what empty_cache would give back.
    pinned_bytes
        Free bytes in segments that little holds (`PINNED_SHARE`).
    """

    event: int
    segments: Longs
    blocks: Longs
    block_segment: Longs
    pending: NDArray[np.bool_]
    free_segment: Longs
    free_address: NDArray[np.uint64]
    free_bytes: Longs
    reserved_bytes: int
    used_bytes: int
    requested_bytes: int
    pending_bytes: int
    largest_free_bytes: int
    releasable_bytes: int
    pinned_bytes: int
    segment_used_bytes: Longs

    @property
    def idle_bytes(self) -> int:
        """Reserved, and not handed out."""
        return self.reserved_bytes - self.used_bytes

    @property
    def rounding_bytes(self) -> int:
        """Lost to rounding: handed out, but not asked for."""
        return self.used_bytes - self.requested_bytes


def allocator_state(history: AllocatorHistory, event: int, device: int | None = None) -> AllocatorState:
    """Return the state after `event`; about a millisecond for a hundred thousand blocks."""
    blocks, segments = history.state_after(event)
    b, s = history.blocks, history.segments
    if device is not None:
        blocks, segments = blocks[b.device[blocks] == device], segments[s.device[segments] == device]
    segments = segments[np.lexsort((s.address[segments], s.device[segments]))]
    blocks = blocks[np.lexsort((b.address[blocks], b.device[blocks]))]
    owner = _owner(history, blocks, segments)
    pending = b.requested[blocks] <= event
    size = b.bytes[blocks]
    inside = owner >= 0
    used = np.bincount(owner[inside], weights=size[inside], minlength=len(segments)).astype(np.int64)
    free_segment, free_address, free_bytes = _free_ranges(history, blocks[inside], owner[inside], segments)
    whole = s.bytes[segments]
    empty, pinned = used == 0, (used > 0) & (used < PINNED_SHARE * whole)
    return AllocatorState(
        event, segments, blocks, owner, pending, free_segment, free_address, free_bytes, int(whole.sum()),
        int(size.sum()), int(b.requested_bytes[blocks].sum()), int(size[pending].sum()),
        int(free_bytes.max(initial=0)), int(whole[empty].sum()), int((whole - used)[pinned].sum()), used,
    )  # fmt: skip


def _owner(history: AllocatorHistory, blocks: Longs, segments: Longs) -> Longs:
    """Return the place in `segments` of the segment that holds each block."""
    b, s = history.blocks, history.segments
    if not len(segments):
        return np.full(len(blocks), -1, np.int64)
    shift = np.uint64(58)  # no address is so high: devices keep apart
    starts = s.address[segments] + ((s.device[segments] + 1).astype(np.uint64) << shift)
    mine = b.address[blocks] + ((b.device[blocks] + 1).astype(np.uint64) << shift)
    at = np.searchsorted(starts, mine, side="right") - 1
    inside = (at >= 0) & (mine - starts[at] < s.bytes[segments][at].astype(np.uint64))
    return np.where(inside, at, -1)


def _free_ranges(
    history: AllocatorHistory, blocks: Longs, owner: Longs, segments: Longs
) -> tuple[Longs, NDArray[np.uint64], Longs]:
    """Return what lies between the blocks of each segment."""
    b, s = history.blocks, history.segments
    count = len(segments)
    starts, ends = s.address[segments], s.address[segments] + s.bytes[segments].astype(np.uint64)
    # Ends of used ranges (a segment's own start among them), each followed by the next one's start.
    left = np.concatenate([starts, b.address[blocks] + b.bytes[blocks].astype(np.uint64)])
    right = np.concatenate([b.address[blocks], ends])
    left_owner = np.concatenate([np.arange(count), owner])
    right_owner = np.concatenate([owner, np.arange(count)])
    left_order, right_order = np.lexsort((left, left_owner)), np.lexsort((right, right_owner))
    begin, end, where = left[left_order], right[right_order], left_owner[left_order]
    size = np.where(end > begin, end - begin, np.uint64(0)).astype(np.int64)
    kept = size > 0
    return where[kept].astype(np.int64), begin[kept], size[kept]


def domains(history: AllocatorHistory, state: AllocatorState) -> list[Domain]:
    """Return the domains of a state: device, stream, pool, and small or large; the largest first."""
    s, segments = history.segments, state.segments
    keys = np.stack(
        [s.device[segments], s.stream[segments], s.pool[segments], s.large[segments].astype(np.int64)], axis=1
    )
    unique, group = np.unique(keys, axis=0, return_inverse=True)
    group = group.ravel()
    count = len(unique)
    inside = state.block_segment >= 0
    block_group = group[state.block_segment[inside]]
    size = history.blocks.bytes[state.blocks[inside]]
    reserved = np.bincount(group, weights=s.bytes[segments], minlength=count)
    used = np.bincount(block_group, weights=size, minlength=count)
    pending = np.bincount(block_group, weights=np.where(state.pending[inside], size, 0), minlength=count)
    free_group = group[state.free_segment]
    free = np.bincount(free_group, weights=state.free_bytes, minlength=count)
    largest = np.zeros(count, np.int64)
    np.maximum.at(largest, free_group, state.free_bytes)
    many = np.bincount(group, minlength=count)
    found = [
        Domain(
            device, stream, history.store.string(pool), bool(large), int(reserved[i]), int(used[i]),
            int(pending[i]), int(free[i]), int(largest[i]), int(many[i]),
        )
        for i, (device, stream, pool, large) in enumerate(unique.tolist())
    ]  # fmt: skip
    return sorted(found, key=lambda domain: -domain.reserved_bytes)


@dataclass(frozen=True, eq=False)
class Fragmentation:
    """The state at sampled events, one entry each; exact there."""

    event: Longs
    t_ns: Longs
    reserved_bytes: Longs
    used_bytes: Longs
    pending_bytes: Longs
    largest_free_bytes: Longs
    idle_bytes: Longs
    pinned_bytes: Longs


def fragmentation(history: AllocatorHistory, samples: int, device: int | None = None) -> Fragmentation:
    """Return the state at `samples` events, evenly apart, the first and the last among them."""
    last = history.events - 1
    events = np.unique(np.linspace(-1, last, min(samples, last + 2)).astype(np.int64))
    times = history.t_ns
    rows = [allocator_state(history, int(event), device) for event in events.tolist()]
    numbers = [
        (row.reserved_bytes, row.used_bytes, row.pending_bytes, row.largest_free_bytes, row.idle_bytes,
         row.pinned_bytes)
        for row in rows
    ]  # fmt: skip
    columns = np.array(numbers, np.int64).reshape(-1, 6).T
    at = times[np.maximum(events, 0)] if len(times) else np.zeros(len(events), np.int64)
    return Fragmentation(events, at, *columns)
