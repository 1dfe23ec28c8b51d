"""How a caching allocator gives back some of its free segments, before it gives back all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorscope.compute.allocator_domain import Domain

if TYPE_CHECKING:
    from tensorscope.compute.caching_allocator import CachingAllocator


def release_oversize(allocator: CachingAllocator, domain: Domain, size: int) -> bool:
    """Give back the one oversize segment that is large enough, else the largest ones until it is."""
    oversize = allocator.settings.max_split_bytes
    target = max(size, oversize)
    able = [block for block in domain.blocks if block.is_whole and block.size >= oversize]
    enough = [block for block in able if block.size >= target]
    if enough:
        allocator.release(enough[0])
        return True
    released = 0
    while able and released < target:
        block = able.pop()
        released += block.size
        allocator.release(block)
    return released >= target


def collect_garbage(allocator: CachingAllocator) -> None:
    """Above the threshold, give back large segments that went unused for longer than the average."""
    allowed = int(allocator.settings.garbage_collection_threshold * allocator.limit_bytes)
    target = allocator.reserved_bytes - allowed
    if target <= 0:
        return
    domains = [place.large for place in allocator.places.values() if place.large.is_collected]
    idle = [block for domain in domains for block in domain.blocks if block.is_whole]
    age = {block: allocator.searches - block.searched for block in idle}
    reclaimed, total = 0, sum(age.values())
    while age and reclaimed < target:
        average = total / len(age)
        old = [block for block in age if age[block] >= average]
        if not old:
            return
        for block in old:
            reclaimed += block.size
            total -= age.pop(block)
            allocator.release(block)
