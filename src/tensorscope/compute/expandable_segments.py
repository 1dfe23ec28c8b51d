"""Segments that grow by mapping pages: one a domain, larger than it will ever need."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from tensorscope.compute.allocator_domain import Block, Domain
from tensorscope.compute.allocator_settings import SMALL_SEGMENT_BYTES

if TYPE_CHECKING:
    from tensorscope.compute.caching_allocator import CachingAllocator

ADDRESS_SPACE_BYTES = 1 << 44
"""Of one segment; the real one is an eighth larger than the device, which is never used up."""


def page_bytes(allocator: CachingAllocator, domain: Domain) -> int:
    """Return what is mapped and unmapped at once."""
    return SMALL_SEGMENT_BYTES if domain.is_small else allocator.settings.large_segment_bytes


def best_fit_to_grow(domain: Domain, index: int, grows: bool) -> int:
    """Return a place in the free list, from `index` on: the number of blocks where none will do.

    Parameters
    ----------
    grows
        Expandable blocks may be used. One that can grow then counts as large as it can become, so
        that blocks that cannot are filled first. Otherwise they are all left out.
    """
    blocks = domain.blocks
    if not grows:
        while index < len(blocks) and blocks[index].expandable:
            index += 1
        return index
    while index + 1 < len(blocks) and blocks[index].expandable:
        if _room(blocks[index + 1]) >= _room(blocks[index]):
            break
        index += 1
    return index


def _room(block: Block) -> int:
    after = block.after
    return block.size + (after.size if after is not None and not after.is_mapped else 0)


def expand(allocator: CachingAllocator, domain: Domain, size: int) -> Block | None:
    """Map pages at the lowest address where `size` bytes fit, and take the block that they make."""
    block = _lowest_room(domain, size) or _new_segment(allocator, domain)
    if not block.is_mapped:
        mapped = _map(allocator, block, min(block.size, size))
        if mapped is None:
            return None
        block = mapped
    while block.size < size:
        after = block.after
        if after is None:
            return None
        mapped = _map(allocator, after, min(size - block.size, after.size))
        if mapped is None:
            return None
        block = mapped
    domain.remove(block)
    return block


def unmap(allocator: CachingAllocator, block: Block) -> None:
    """Give back the pages that lie wholly within a free block; what is left of it stays free."""
    domain, page = block.domain, page_bytes(allocator, block.domain)
    begin = -(-(block.address - block.base) // page) * page + block.base
    end = (block.address + block.size - block.base) // page * page + block.base
    if begin >= end:
        return
    domain.remove(block)
    if begin > block.address:
        front, block = block, block.split(begin - block.address)
        domain.add(front)
    if end < block.address + block.size:
        domain.add(block.split(end - block.address))
    allocator.give_back(block.size)
    block.is_mapped = False
    _join_unmapped(block)


def add_unmapped(block: Block) -> None:
    """List a block as address space without pages."""
    block.is_mapped = False
    unmapped = block.domain.unmapped
    unmapped.insert(bisect_left(unmapped, block.address, key=_address), block)


def _address(block: Block) -> int:
    return block.address


def _join_unmapped(block: Block) -> None:
    before, after = block.before, block.after
    if before is not None and not before.is_mapped:
        block.domain.unmapped.remove(before)
        block.absorb_before(before)
    if after is not None and not after.is_mapped:
        block.domain.unmapped.remove(after)
        block.absorb_after(after)
    add_unmapped(block)


def _lowest_room(domain: Domain, size: int) -> Block | None:
    """Return the first of the free or unmapped blocks that together make `size` bytes, one unmapped."""
    for block in domain.unmapped:
        before = block.before
        first = before if before is not None and before.is_free else block
        room, at = 0, first
        while room < size and (at.is_free or not at.is_mapped):
            room += at.size
            if at.after is None:
                break
            at = at.after
        if room >= size:
            return first
    return None


def _new_segment(allocator: CachingAllocator, domain: Domain) -> Block:
    block = Block(allocator.new_address(ADDRESS_SPACE_BYTES), ADDRESS_SPACE_BYTES, domain)
    block.expandable = True
    add_unmapped(block)
    return block


def _map(allocator: CachingAllocator, block: Block, size: int) -> Block | None:
    """Give pages to the first `size` bytes of an unmapped block; return the free block they become."""
    page = page_bytes(allocator, block.domain)
    size = min(-(-size // page) * page, block.size)
    if not allocator.reserve(size):
        return None
    block.domain.unmapped.remove(block)
    if size < block.size:
        add_unmapped(block.split(size))
    block.is_mapped = True
    allocator.join(block)
    return block
