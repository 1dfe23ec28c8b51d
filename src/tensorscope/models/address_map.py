"""Where blocks lie over time: addresses without the empty space between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorscope.models.allocations import ALIVE, Allocations, find_allocations
from tensorscope.models.allocator_history import FOREVER, AllocatorHistory
from tensorscope.models.frozen_store import StoreLike
from tensorscope.models.grouping import CATEGORY, Grouped, group_blocks
from tensorscope.models.memory_axis import EVENT

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

GAP_BYTES = 1 << 20
"""Empty space of more than this between addresses is left out."""
SPACE_SHARE = 0.004
"""Of the whole height, between two regions."""


@dataclass(frozen=True, eq=False)
class Regions:
    """Ranges of addresses in which blocks lie, and where each is drawn."""

    device: Longs
    start: NDArray[np.uint64]
    bytes: Longs
    offset: Floats

    @property
    def height(self) -> float:
        """Where the last region ends."""
        return float(self.offset[-1] + self.bytes[-1]) if len(self.bytes) else 1.0

    def place(self, device: Longs, address: NDArray[np.uint64]) -> Floats:
        """Return where addresses are drawn."""
        keys = self.start ^ _device_bits(self.device)
        mine = address ^ _device_bits(device)
        at = np.clip(np.searchsorted(keys, mine, side="right") - 1, 0, None)
        return self.offset[at] + (mine - keys[at]).astype(np.float64)


@dataclass(frozen=True, eq=False)
class AddressMap:
    """Blocks and segments as rectangles; x is seconds since the origin, or event numbers.

    Attributes
    ----------
    blocks
        The columns that the rectangles are of, one entry a rectangle.
    class_id
        Series of each block: the category, or the grouping's.
    segment_x0, ...
        Reserved ranges, drawn behind; none on the CPU.
    """

    axis: str
    regions: Regions
    blocks: Allocations
    x0: Floats
    x1: Floats
    y0: Floats
    y1: Floats
    class_id: NDArray[np.uint8]
    grouped: Grouped | None
    segment_x0: Floats
    segment_x1: Floats
    segment_y0: Floats
    segment_y1: Floats
    end_x: float

    @property
    def begin_x(self) -> float:
        """Where the first event lies; blocks that were there before reach to its left."""
        seen = self.blocks.begin_row >= 0
        return float(self.x0[seen].min()) if seen.any() else float(self.x0.min())

    def block_at(self, x: float, y: float) -> int:
        """Return the block at a point, the youngest where several are, -1 for none."""
        inside = (self.x0 <= x) & (x < self.x1) & (self.y0 <= y) & (y < self.y1)
        found = np.flatnonzero(inside)
        return int(found[-1]) if len(found) else -1

    def index_of(self, address: int, row: int) -> int:
        """Return the block that ``alloc`` row `row` allocated or freed, else the last at `address`."""
        if 0 <= row < len(self.blocks.owner):
            return int(self.blocks.owner[row])
        found = np.flatnonzero(self.blocks.address == np.uint64(address)) if address else np.empty(0)
        return int(found[-1]) if len(found) else -1


def address_map(store: StoreLike, group: str, axis: str) -> AddressMap | None:
    """Return the map of a session, None without blocks; any thread, on a frozen store."""
    blocks = find_allocations(store)
    if not len(blocks):
        return None
    history = AllocatorHistory(store)
    regions = find_regions(blocks, history)
    grouped = None if group == CATEGORY else group_blocks(store, blocks, group)
    class_id = np.minimum(blocks.category, 7) if grouped is None else grouped.series
    rows = len(blocks.owner)
    end_ns = max(_last_ns(store), 1)
    if axis == EVENT:
        x0, x1, end_x = (
            blocks.from_row.astype(float),
            np.minimum(blocks.until_row, rows + 1).astype(float),
            rows + 1.0,
        )
    else:
        x0 = blocks.begin_ns / 1e9
        x1 = np.where(blocks.end_ns == ALIVE, end_ns, np.minimum(blocks.end_ns, end_ns)) / 1e9
        end_x = end_ns / 1e9
    y0 = regions.place(blocks.device.astype(np.int64), blocks.address)
    segments = _segments(store, history, regions, axis, end_x)
    return AddressMap(
        axis, regions, blocks, x0, x1, y0, y0 + blocks.size_bytes, class_id.astype(np.uint8), grouped,
        *segments, end_x,
    )  # fmt: skip


def _last_ns(store: StoreLike) -> int:
    ends = [
        store.tables["alloc"]["t_ns"][-1:],
        store.tables["step"]["t1_ns"][-1:],
        store.tables["trace"]["t_ns"][-1:],
    ]
    return max([0, *(int(end[0]) - store.origin_ns for end in ends if len(end))])


def _device_bits(device: Longs) -> NDArray[np.uint64]:
    """Return the device in the bits that no address uses: devices lie apart."""
    return (device + 1).astype(np.uint64) << np.uint64(58)


def find_regions(blocks: Allocations, history: AllocatorHistory) -> Regions:
    """Return the ranges that segments or, without any, blocks lie in; near ones are one."""
    s = history.segments
    start = np.concatenate([blocks.address ^ _device_bits(blocks.device.astype(np.int64)),
                            s.address ^ _device_bits(s.device)])  # fmt: skip
    size = np.concatenate([blocks.size_bytes, s.bytes])
    order = np.argsort(start, kind="stable")
    start, end = start[order], start[order] + size[order].astype(np.uint64)
    reach = np.maximum.accumulate(end)
    new = np.ones(len(start), bool)
    new[1:] = start[1:] > reach[:-1] + np.uint64(GAP_BYTES)
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(start)) - 1
    low, high = start[first], reach[last]
    bytes_ = np.maximum((high - low).astype(np.int64), 1)
    space = SPACE_SHARE * float(bytes_.sum())
    offset = np.concatenate([[0.0], np.cumsum(bytes_[:-1] + space)])
    device = (low >> np.uint64(58)).astype(np.int64) - 1
    return Regions(device, low ^ _device_bits(device), bytes_, offset)


def _segments(
    store: StoreLike, history: AllocatorHistory, regions: Regions, axis: str, end_x: float
) -> tuple[Floats, Floats, Floats, Floats]:
    s = history.segments
    if axis == EVENT:
        moments = np.append(store.tables["trace"]["alloc_row"], end_x).astype(float)
    else:
        moments = np.append(history.t_ns / 1e9, end_x)
    last = len(moments) - 1
    at = [np.where(events < 0, 0.0, moments[np.clip(events, 0, last)]) for events in (s.begin, s.end)]
    x1 = np.where(s.end == FOREVER, end_x, at[1])
    y0 = regions.place(s.device, s.address)
    return at[0], x1, y0, y0 + s.bytes
