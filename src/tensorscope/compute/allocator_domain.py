"""Blocks of a caching allocator, and the free ones among them in the order of best fit."""

from __future__ import annotations

from bisect import bisect_left

_ADDRESS_BITS = 64


class Block:
    """A run of bytes of one segment, linked with those before and after it.

    Attributes
    ----------
    owner
        Who it is handed out to; -1 while it is not.
    expandable
        It lies in a segment of which pages are mapped and unmapped.
    base
        Where its expandable segment begins; pages count from there.
    is_free
        It is in its domain's list. Neither handed out nor free: its pages are not mapped.
    searched
        How often a block had been looked for when it became free.
    """

    __slots__ = ("address", "after", "base", "before", "domain", "expandable", "is_free", "is_mapped",
                 "owner", "requested", "searched", "size")  # fmt: skip

    def __init__(self, address: int, size: int, domain: Domain) -> None:
        self.address, self.size, self.domain = address, size, domain
        self.requested, self.owner, self.searched, self.base = 0, -1, 0, address
        self.before: Block | None = None
        self.after: Block | None = None
        self.expandable = self.is_free = False
        self.is_mapped = True

    @property
    def is_whole(self) -> bool:
        """Whether it is a segment that the device can have back as it is."""
        return self.before is None and self.after is None and not self.expandable

    def split(self, size: int) -> Block:
        """Keep the first `size` bytes and return the rest as a block behind."""
        rest = Block(self.address + size, self.size - size, self.domain)
        rest.expandable, rest.base, rest.is_mapped = self.expandable, self.base, self.is_mapped
        rest.before, rest.after = self, self.after
        if rest.after is not None:
            rest.after.before = rest
        self.after, self.size = rest, size
        return rest

    def absorb_before(self, block: Block) -> None:
        """Take over the bytes of the block before."""
        self.address, self.before = block.address, block.before
        self.size += block.size
        if self.before is not None:
            self.before.after = self

    def absorb_after(self, block: Block) -> None:
        """Take over the bytes of the block after."""
        self.after = block.after
        self.size += block.size
        if self.after is not None:
            self.after.before = self


class Domain:
    """The free blocks that a request may get: of one pool, one stream, and small or large.

    Attributes
    ----------
    blocks
        Free ones, by size and then address.
    unmapped
        Runs of address space without pages, by address.
    is_collected
        Idle segments of it are garbage, where garbage is collected.
    """

    __slots__ = ("_keys", "blocks", "is_collected", "is_small", "unmapped")

    def __init__(self, is_small: bool, is_collected: bool) -> None:
        self._keys: list[int] = []
        self.blocks: list[Block] = []
        self.unmapped: list[Block] = []
        self.is_small, self.is_collected = is_small, is_collected

    def add(self, block: Block) -> None:
        """List a block as free."""
        key = (block.size << _ADDRESS_BITS) | block.address
        index = bisect_left(self._keys, key)
        self._keys.insert(index, key)
        self.blocks.insert(index, block)
        block.is_free = True

    def remove(self, block: Block) -> None:
        """Take a free block off the list."""
        self.take(bisect_left(self._keys, (block.size << _ADDRESS_BITS) | block.address))

    def index_of(self, size: int) -> int:
        """Return the place of the smallest free block of at least `size` bytes."""
        return bisect_left(self._keys, size << _ADDRESS_BITS)

    def take(self, index: int) -> Block:
        """Take the block at a place off the list."""
        del self._keys[index]
        block = self.blocks.pop(index)
        block.is_free = False
        return block


class Place:
    """A stream within a pool: it has small and large blocks, which never mix."""

    __slots__ = ("large", "pool", "small", "stream")

    def __init__(self, pool: str, stream: int) -> None:
        self.pool, self.stream = pool, stream
        self.small = Domain(is_small=True, is_collected=False)
        self.large = Domain(is_small=False, is_collected=pool == "")
