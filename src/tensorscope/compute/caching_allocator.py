"""A model of CUDA's caching allocator: where it puts each block, and what it reserves for that.

It follows the rules that PyTorch documents for its native allocator. Time, threads and the device
are left out: memory runs out when `limit_bytes` says so, and a block that other streams use comes
back when the caller says so.
"""

from __future__ import annotations

from tensorscope.compute.allocator_domain import Block, Domain, Place
from tensorscope.compute.allocator_settings import MIN_BLOCK_BYTES, SMALL_BYTES, UNLIMITED, AllocatorSettings
from tensorscope.compute.cache_release import collect_garbage, release_oversize
from tensorscope.compute.expandable_segments import best_fit_to_grow, expand, unmap

FIRST_ADDRESS = 1 << 32
"""Where segments begin of which nobody recorded the address."""
_ADDRESS_STEP = 1 << 21


class CachingAllocator:
    """One device.

    Attributes
    ----------
    clock
        Set by the caller: what `changes` calls the moment.
    changes
        Moment and `reserved_bytes`, whenever these changed.
    active_bytes
        Blocks handed out, as large as they lie there, those that wait for other streams included.
    active_at_peak_bytes
        The most in use while as much was reserved as ever.
    segment_allocs
        Calls to the device for memory: segments, or ranges of pages mapped.
    recorded_segments
        Address and size of segments that the recorded program got next; used where sizes agree.
    segment_addresses
        Where segments begin.
    searches
        Of large blocks of the default pool; only counted where garbage is collected.
    """

    def __init__(self, settings: AllocatorSettings, limit_bytes: int | None = None) -> None:
        self.settings = settings
        self.limit_bytes = UNLIMITED if limit_bytes is None else limit_bytes
        self.clock = 0
        self.changes: list[tuple[int, int]] = []
        self.reserved_bytes = self.peak_reserved_bytes = self.active_at_peak_bytes = 0
        self.active_bytes = self.peak_active_bytes = 0
        self.segment_allocs = self.segment_frees = self.retries = 0
        self.recorded_segments: list[tuple[int, int]] = []
        self.segment_addresses: set[int] = set()
        self.pending: dict[int, Block] = {}
        self.next_address = FIRST_ADDRESS
        self.places: dict[tuple[str, int], Place] = {}
        self._expandable = settings.expandable_segments
        self._max_split = settings.max_split_bytes
        self._collects = settings.garbage_collection_threshold > 0 and limit_bytes is not None
        self.searches = 0

    def place(self, pool: str, stream: int) -> Place:
        """Return where blocks of a stream and pool lie; each stream reuses only its own blocks."""
        found = self.places.get((pool, stream))
        if found is None:
            found = self.places[pool, stream] = Place(pool, stream)
        return found

    def malloc(self, owner: int, requested_bytes: int, rounded_bytes: int, place: Place) -> Block | None:
        """Hand out a block, or None where the device has no more.

        Parameters
        ----------
        owner
            Not negative; the block's while it is not freed.
        rounded_bytes
            `requested_bytes` as `AllocatorSettings.round_sizes` rounds it.
        """
        domain = place.small if rounded_bytes <= SMALL_BYTES else place.large
        block = self._best_fit(domain, rounded_bytes) or self._grow(domain, rounded_bytes)
        if block is None:
            return None
        rest = block.size - rounded_bytes
        if domain.is_small or self._expandable:
            if rest >= MIN_BLOCK_BYTES:
                self._split(block, rounded_bytes)
        elif rest > SMALL_BYTES and rounded_bytes < self._max_split:
            self._split(block, rounded_bytes)
        block.owner = owner
        block.requested = requested_bytes
        self.active_bytes += block.size
        if self.active_bytes > self.peak_active_bytes:
            self.peak_active_bytes = self.active_bytes
        if self.reserved_bytes >= self.peak_reserved_bytes:
            self.note_peak()
        return block

    def hold(self, block: Block) -> None:
        """The program freed `block`, but other streams still use it; `free` follows later."""
        self.pending[block.owner] = block

    def free(self, block: Block) -> None:
        """Take back a block that is handed out, and join it with free neighbours."""
        self.active_bytes -= block.size
        if self.pending:
            self.pending.pop(block.owner, None)
        block.owner = -1
        self.join(block)

    def join(self, block: Block) -> None:
        """Put a block that is in no list into the free ones, one with those beside it."""
        before, after, domain = block.before, block.after, block.domain
        if before is not None and before.is_free:
            domain.remove(before)
            block.absorb_before(before)
        if after is not None and after.is_free:
            domain.remove(after)
            block.absorb_after(after)
        block.searched = self.searches
        domain.add(block)

    def empty_cache(self) -> None:
        """Give back every segment of the default pool that is free as a whole, and free pages."""
        for owner in list(self.pending):
            self.free(self.pending[owner])
        for place in self.places.values():
            if place.pool == "":
                for domain in (place.large, place.small):
                    self._release_domain(domain)

    def release_at(self, address: int, size_bytes: int) -> bool:
        """Give back the free segment, or the free pages, at an address; False if it is not so."""
        for place in self.places.values():
            for domain in (place.large, place.small):
                for block in domain.blocks:
                    if block.address <= address and address + size_bytes <= block.address + block.size:
                        if block.expandable:
                            unmap(self, block)
                        elif block.is_whole:
                            self.release(block)
                        return True
        return False

    def note_peak(self) -> None:
        """Remember that as much is reserved now as ever before, or more, and what of that is used."""
        if self.reserved_bytes > self.peak_reserved_bytes:
            self.peak_reserved_bytes, self.active_at_peak_bytes = self.reserved_bytes, self.active_bytes
        elif self.active_bytes > self.active_at_peak_bytes:
            self.active_at_peak_bytes = self.active_bytes

    # -- the device -----------------------------------------------------------------------------

    def reserve(self, size_bytes: int) -> bool:
        """Take memory from the device; False if it has not so much."""
        if self.reserved_bytes + size_bytes > self.limit_bytes:
            return False
        self.reserved_bytes += size_bytes
        self.segment_allocs += 1
        self.changes.append((self.clock, self.reserved_bytes))
        return True

    def give_back(self, size_bytes: int) -> None:
        """Return memory to the device."""
        self.reserved_bytes -= size_bytes
        self.segment_frees += 1
        self.changes.append((self.clock, self.reserved_bytes))

    def new_address(self, size_bytes: int) -> int:
        """Return where the device puts a new segment: as recorded, else above all others."""
        for index, (address, size) in enumerate(self.recorded_segments):
            if size == size_bytes or self._expandable:
                del self.recorded_segments[index]
                if address not in self.segment_addresses:
                    self.segment_addresses.add(address)
                    return address
                break
        address = self.next_address
        self.next_address = -(-(address + size_bytes) // _ADDRESS_STEP) * _ADDRESS_STEP
        self.segment_addresses.add(address)
        return address

    # -- finding a block ------------------------------------------------------------------------

    def _best_fit(self, domain: Domain, size: int) -> Block | None:
        """Take the smallest free block that is large enough, the lowest of several."""
        if self._collects and domain.is_collected:
            self.searches += 1
        index = domain.index_of(size)
        if index == len(domain.blocks):
            return None
        if domain.blocks[index].expandable:
            index = best_fit_to_grow(domain, index, self._expandable)
            if index == len(domain.blocks):
                return None
        found, limit = domain.blocks[index].size, self._max_split
        if found >= limit and (size < limit or found >= size + self.settings.max_non_split_rounding_bytes):
            return None
        return domain.take(index)

    def _split(self, block: Block, size: int) -> None:
        """Leave the first `size` bytes to `block`, and the rest to a free block behind it."""
        rest = block.split(size)
        rest.searched = self.searches
        block.domain.add(rest)

    def _grow(self, domain: Domain, size: int) -> Block | None:
        """Get a block from the device, giving back more and more of the cache where it has none."""
        if self._collects:
            collect_garbage(self)
        block = self._obtain(domain, size)
        if block is None and self._max_split < UNLIMITED and release_oversize(self, domain, size):
            block = self._obtain(domain, size)
        if block is None:
            self.empty_cache()
            self.retries += 1
            block = self._obtain(domain, size)
        return block

    def _obtain(self, domain: Domain, size: int) -> Block | None:
        if self._expandable:
            return expand(self, domain, size)
        segment_bytes = self.settings.segment_bytes(size)
        if not self.reserve(segment_bytes):
            return None
        return Block(self.new_address(segment_bytes), segment_bytes, domain)

    # -- giving back ----------------------------------------------------------------------------

    def release(self, block: Block) -> None:
        """Give back a free segment."""
        block.domain.remove(block)
        self.segment_addresses.discard(block.address)
        self.give_back(block.size)

    def _release_domain(self, domain: Domain) -> None:
        for block in list(domain.blocks):
            if block.expandable:
                unmap(self, block)
            elif block.is_whole:
                self.release(block)
