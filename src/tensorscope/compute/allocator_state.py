"""What a caching allocator held at a moment, laid out again block by block."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.allocator_domain import Block, Domain
from tensorscope.compute.allocator_settings import SMALL_BYTES
from tensorscope.compute.caching_allocator import CachingAllocator
from tensorscope.compute.expandable_segments import ADDRESS_SPACE_BYTES, add_unmapped

Longs = NDArray[np.int64]
_FAR_BYTES = 1 << 40  # ranges of pages that are further apart are segments of their own


@dataclass(frozen=True)
class Segment:
    """Memory that the device gave, or a range of mapped pages."""

    address: int
    size_bytes: int
    pool: str
    stream: int
    is_large: bool
    expandable: bool


@dataclass(frozen=True, eq=False)
class AllocatorState:
    """Segments, and the blocks handed out in them; free bytes are what is left.

    Attributes
    ----------
    block
        Numbers of the blocks, as `Requests` counts them.
    block_bytes
        How large each lies there; 0 where that is not known, since it was freed before anybody looked.
    mapped
        Ranges of pages that were mapped later: how low an expandable segment reaches.
    freed_at
        Position of each block's free in the order of all that happened.
    starts, started_at
        Addresses at which blocks were put later, ascending, and the positions of that.
    """

    segments: tuple[Segment, ...]
    block: Longs
    address: NDArray[np.uint64]
    requested_bytes: Longs
    block_bytes: Longs
    mapped: tuple[Segment, ...]
    freed_at: Longs
    starts: list[int]
    started_at: list[int]


def lay_out(allocator: CachingAllocator, state: AllocatorState) -> dict[int, Block]:
    """Fill an empty allocator; return the block of each number. Blocks in no segment are left out."""
    order = np.argsort(state.address, kind="stable")
    rounded = allocator.settings.round_sizes(state.requested_bytes)
    columns = (state.address, state.block, state.requested_bytes, rounded, state.block_bytes, state.freed_at)
    waiting = list(zip(*(column[order].tolist() for column in columns), strict=True))
    addresses = [one[0] for one in waiting]
    placed: dict[int, Block] = {}
    ends: dict[Domain, Block] = {}
    for segment in _joined(state.segments):
        begin = bisect_left(addresses, segment.address)
        end = bisect_left(addresses, segment.address + segment.size_bytes)
        _Layout(allocator, segment, state, placed).fill(waiting[begin:end], ends)
    for last in ends.values():
        _leave_room(last)
    allocator.reserved_bytes = sum(segment.size_bytes for segment in state.segments)
    allocator.active_bytes = sum(block.size for block in placed.values())
    return placed


class _Layout:
    """Cuts one segment into the blocks in it."""

    def __init__(
        self, allocator: CachingAllocator, segment: Segment, state: AllocatorState, placed: dict[int, Block]
    ) -> None:
        self.allocator, self.segment, self.state, self.placed = allocator, segment, state, placed
        place = allocator.place(segment.pool, segment.stream)
        self.domain = place.large if segment.is_large else place.small
        self.end = segment.address + segment.size_bytes
        allocator.segment_addresses.add(segment.address)
        allocator.next_address = max(allocator.next_address, -(-self.end // _FAR_BYTES) * _FAR_BYTES)

    def fill(self, waiting: list[tuple[int, ...]], ends: dict[Domain, Block]) -> None:
        segment = self.segment
        block = Block(segment.address, segment.size_bytes, self.domain)
        if segment.expandable:
            _continue(ends, block, self._lowest())
        for index, (address, number, requested, rounded, known, freed_at) in enumerate(waiting):
            size = known or rounded
            if address < block.address or address + size > self.end:
                continue  # it cannot lie there: the file contradicts itself
            if address > block.address:
                block = self._cut_free(block, address)
            following = waiting[index + 1][0] if index + 1 < len(waiting) else self.end
            size = known or self._size(address, rounded, following, freed_at)
            rest = block.split(size) if size < block.size else None
            block.owner, block.requested = number, requested
            self.placed[number] = block
            if rest is None:
                break
            block = rest
        if block.owner < 0:
            self.domain.add(block)
        if segment.expandable:
            ends[self.domain] = block

    def _lowest(self) -> int:
        """Return where the expandable segment begins, as far as anything was ever mapped there."""
        mine = self.segment
        key = mine.pool, mine.stream, mine.is_large
        known = [one.address for one in self.state.mapped if (one.pool, one.stream, one.is_large) == key]
        near = [address for address in known if 0 < mine.address - address < _FAR_BYTES]
        return min(near, default=mine.address)

    def _cut_free(self, block: Block, address: int) -> Block:
        rest = block.split(address - block.address)
        self.domain.add(block)
        return rest

    def _size(self, address: int, rounded: int, following: int, freed_at: int) -> int:
        """Return how large a block is that was not split if the rest had been too small to be of use."""
        end = address + rounded
        gap = following - end
        settings = self.allocator.settings
        if gap <= 0 or not self.segment.is_large or settings.expandable_segments:
            return rounded
        oversize = rounded >= settings.max_split_bytes
        most = settings.max_non_split_rounding_bytes if oversize else SMALL_BYTES
        if gap <= most:  # no free block is that small
            return rounded + gap
        starts, moments = self.state.starts, self.state.started_at
        begin, last = bisect_right(starts, end), bisect_right(starts, end + most)
        seen = [(moments[i], starts[i]) for i in range(begin, last) if moments[i] < freed_at]
        return min(seen)[1] - address if seen else rounded


def _joined(segments: tuple[Segment, ...]) -> list[Segment]:
    """Return segments by address; ranges of pages that touch are one."""
    found: list[Segment] = []
    for one in sorted((one for one in segments if one.size_bytes > 0), key=lambda one: one.address):
        last = found[-1] if found else None
        if last is not None and one.expandable and one.address == last.address + last.size_bytes:
            grown = replace(last, size_bytes=last.size_bytes + one.size_bytes)
            if replace(one, address=grown.address, size_bytes=grown.size_bytes) == grown:
                found[-1] = grown
                continue
        found.append(one)
    return found


def _continue(ends: dict[Domain, Block], block: Block, lowest: int) -> None:
    """Link a range of pages with the one before, over address space without pages."""
    block.expandable = True
    last = ends.get(block.domain)
    begin = lowest if last is None else last.address + last.size
    if last is not None and block.address - begin > _FAR_BYTES:
        _leave_room(last)
        last, begin = None, lowest
    block.base = begin if last is None else last.base
    if block.address == begin:
        return
    gap = Block(begin, block.address - begin, block.domain)
    gap.expandable, gap.base, gap.before, gap.after = True, block.base, last, block
    block.before = gap
    if last is not None:
        last.after = gap
    add_unmapped(gap)


def _leave_room(last: Block) -> None:
    """Put address space behind the last pages of an expandable segment."""
    room = Block(last.address + last.size, ADDRESS_SPACE_BYTES, last.domain)
    room.expandable, room.base, room.before = True, last.base, last
    last.after = room
    add_unmapped(room)
