"""A program's requests for memory, run through the model of the caching allocator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.allocator_domain import Block
from tensorscope.compute.allocator_requests import (
    ALLOC,
    EMPTY_CACHE,
    FAILED_ALLOC,
    FREE,
    FREE_REQUESTED,
    GOT_SEGMENT,
    RELEASED,
    STEP_END,
    Requests,
)
from tensorscope.compute.allocator_settings import SMALL_BYTES, AllocatorSettings
from tensorscope.compute.allocator_state import AllocatorState, lay_out
from tensorscope.compute.caching_allocator import CachingAllocator
from tensorscope.compute.cancelling import Cancelled, CancelledError

_CHUNK = 1024

Longs = NDArray[np.int64]
Report = Callable[[float], None]
"""Called with the share that is done, 0 to 1."""


@dataclass(frozen=True)
class Failure:
    """The first request that got nothing.

    Attributes
    ----------
    request
        Its index.
    free_bytes, largest_free_bytes
        Of its pool, stream and kind of blocks, when nothing more could be given back.
    """

    request: int
    t_ns: int
    size_bytes: int
    reserved_bytes: int
    active_bytes: int
    free_bytes: int
    largest_free_bytes: int


@dataclass(frozen=True, eq=False)
class Replay:
    """What the model did. Peaks and ends are those up to the failure, if there is one.

    Attributes
    ----------
    unused_at_peak_bytes
        Of what was reserved at the peak, the bytes that were in no block at any time then.
    change_at, change_bytes
        Index of each request that changed what is reserved, and the bytes after it.
    same_addresses, allocations
        How many of the blocks allocated lay at the recorded address.
    """

    peak_reserved_bytes: int
    peak_active_bytes: int
    end_reserved_bytes: int
    start_reserved_bytes: int
    unused_at_peak_bytes: int
    segment_allocs: int
    segment_frees: int
    retries: int
    same_addresses: int
    allocations: int
    failure: Failure | None
    change_at: Longs = field(repr=False)
    change_bytes: Longs = field(repr=False)

    def reserved_after(self, requests: int) -> Longs:
        """Return the reserved bytes after each of the first `requests` requests."""
        bytes_ = np.concatenate([[self.start_reserved_bytes], self.change_bytes])
        return bytes_[np.searchsorted(self.change_at, np.arange(requests), side="right")]


def replay(
    requests: Requests, settings: AllocatorSettings, *, state: AllocatorState | None = None,
    limit_bytes: int | None = None, as_recorded: bool = False, cancelled: Cancelled = lambda: False,
    report: Report = lambda _: None,
) -> Replay:  # fmt: skip
    """Run `requests` until one fails.

    Parameters
    ----------
    state
        What the allocator held before the first request; None starts empty, and the listed blocks
        are allocated first.
    limit_bytes
        What the device has for this allocator.
    as_recorded
        Repeat what the recorded allocator did because its device was full, and put new segments
        where it got them.

    Raises
    ------
    CancelledError
        If `cancelled` says so.
    """
    run = _Run(requests, settings, limit_bytes, as_recorded)
    first = 0
    if state is not None:
        run.begin_with(state)
        first = requests.listed
    count = len(requests)
    for begin in range(first, count, _CHUNK):
        if cancelled():
            raise CancelledError
        report(begin / count)
        run.run(begin, min(begin + _CHUNK, count))
        if run.failure is not None:
            break
    return run.result()


class _Run:
    def __init__(
        self, requests: Requests, settings: AllocatorSettings, limit_bytes: int | None, as_recorded: bool
    ) -> None:
        self.requests, self.settings, self.as_recorded = requests, settings, as_recorded
        self.allocator = CachingAllocator(settings, limit_bytes)
        self.places = [self.allocator.place(*place) for place in requests.places]
        self.held: list[Block | None] = [None] * requests.blocks
        self.failure: Failure | None = None
        self.start_reserved_bytes = self.same_addresses = self.allocations = 0
        highest = int(requests.address.max(initial=0)) + int(requests.size_bytes.max(initial=0))
        if as_recorded:
            self.allocator.next_address = max(self.allocator.next_address, -(-highest // 2**40) * 2**40)

    def begin_with(self, state: AllocatorState) -> None:
        allocator = self.allocator
        for block, found in lay_out(allocator, state).items():
            self.held[block] = found
        self.start_reserved_bytes = allocator.reserved_bytes
        allocator.peak_active_bytes = allocator.active_bytes
        allocator.note_peak()

    def run(self, begin: int, end: int) -> None:
        """Take the requests of a range; stop at one that fails."""
        requests, allocator, held, places = self.requests, self.allocator, self.held, self.places
        cut = slice(begin, end)
        rounded = self.settings.round_sizes(requests.size_bytes[cut])
        columns = (requests.kind[cut], requests.block[cut], requests.size_bytes[cut], rounded,
                   requests.place[cut], requests.address[cut])  # fmt: skip
        malloc, free, same = allocator.malloc, allocator.free, 0
        for at, (kind, number, size, fit, place, address) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True), begin
        ):
            if kind == FREE:
                block = held[number]
                if block is not None and block.owner == number:
                    free(block)
            elif kind == ALLOC:
                allocator.clock = at
                block = held[number] = malloc(number, size, fit, places[place])
                if block is None:
                    self._fail(at, size, fit)
                    return
                same += block.address == address
            elif not self._rare(at, kind, number, size, fit, place, address):
                return
        self.same_addresses += same
        self.allocations += int((requests.kind[cut] == ALLOC).sum())

    def _rare(self, at: int, kind: int, number: int, size: int, fit: int, place: int, address: int) -> bool:
        """Take a request that is neither an allocation nor a free; return whether it succeeded."""
        allocator = self.allocator
        allocator.clock = at
        if kind == FREE_REQUESTED:
            block = self.held[number]
            if block is not None and block.owner == number:
                allocator.hold(block)
        elif kind == EMPTY_CACHE or (kind == STEP_END and self.settings.empty_cache_each_step):
            allocator.empty_cache()
        elif kind == GOT_SEGMENT and self.as_recorded:
            if at == 0 or self.requests.kind[at - 1] != GOT_SEGMENT:
                allocator.recorded_segments.clear()
            allocator.recorded_segments.append((address, size))
        elif kind == RELEASED and self.as_recorded:
            allocator.release_at(address, size)
        elif kind == FAILED_ALLOC and not self.as_recorded:
            block = allocator.malloc(number, size, fit, self.places[place])
            if block is None:
                self._fail(at, size, fit)
                return False
            allocator.free(block)
        return True

    def _fail(self, at: int, size: int, fit: int) -> None:
        requests, allocator = self.requests, self.allocator
        place = self.places[int(requests.place[at])]
        domain = place.small if fit <= SMALL_BYTES else place.large
        sizes = [block.size for block in domain.blocks]
        self.failure = Failure(
            at, int(requests.t_ns[at]), size, allocator.reserved_bytes, allocator.active_bytes, sum(sizes),
            max(sizes, default=0),
        )  # fmt: skip

    def result(self) -> Replay:
        allocator = self.allocator
        at = np.array([moment for moment, _ in allocator.changes], np.int64)
        return Replay(
            peak_reserved_bytes=allocator.peak_reserved_bytes,
            peak_active_bytes=allocator.peak_active_bytes, end_reserved_bytes=allocator.reserved_bytes,
            start_reserved_bytes=self.start_reserved_bytes,
            unused_at_peak_bytes=allocator.peak_reserved_bytes - allocator.active_at_peak_bytes,
            segment_allocs=allocator.segment_allocs, segment_frees=allocator.segment_frees,
            retries=allocator.retries, same_addresses=self.same_addresses, allocations=self.allocations,
            failure=self.failure, change_at=at,
            change_bytes=np.array([size for _, size in allocator.changes], np.int64),
        )  # fmt: skip
