"""Which free belongs to which allocation, for whole columns of events at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FREED, ALLOCATED, LISTED = 0, 1, 2
"""What an item says of a block: it goes, it comes, or a baseline lists it as alive."""
NONE = -1

Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Lifetimes, in the order of their first items.

    Attributes
    ----------
    begin
        Item that allocated or first listed the block; where only its free was seen, that free.
    end
        Item that ended it: its free, or what came to lie at its address without one; `NONE`: alive.
    owner
        One entry an item: the lifetime it belongs to.
    """

    begin: Longs
    end: Longs
    owner: Longs

    def __len__(self) -> int:
        return len(self.begin)


def pair_lifetimes(
    address: NDArray[np.uint64], size_bytes: Longs, device: NDArray[np.integer], kind: NDArray[np.uint8]
) -> Pairs:
    """Pair items, which stand in the order in which they happened; O(n log n), no loop over items.

    A `LISTED` block that is known to be alive with that size goes on; with another size it is a new
    one. An allocation where a block is alive ends that block: its free was not seen.
    """
    count = len(address)
    order = np.lexsort((address, device)).astype(np.int64)  # stable: in time within an address
    a, d, k, size = address[order], device[order], kind[order], np.abs(size_bytes[order])
    same = np.zeros(count, bool)
    same[1:] = (a[1:] == a[:-1]) & (d[1:] == d[:-1])
    alive_before = same.copy()
    alive_before[1:] &= k[:-1] != FREED
    equal = np.zeros(count, bool)
    equal[1:] = size[1:] == size[:-1]
    goes_on = (k == LISTED) & alive_before & equal
    starts = ((k != FREED) & ~goes_on) | ((k == FREED) & ~alive_before)
    lifetime = np.cumsum(starts) - 1
    first = np.flatnonzero(starts)
    return _in_order(order, k, same, lifetime, first)


def _in_order(
    order: Longs, kind: NDArray[np.uint8], same: NDArray[np.bool_], lifetime: Longs, first: Longs
) -> Pairs:
    """Return the lifetimes that begin at the sorted positions `first`, sorted by their first items."""
    count = len(order)
    after = np.append(first[1:], count)  # where the next lifetime begins
    last = after - 1
    freed = (kind[last] == FREED) if len(first) else np.empty(0, bool)
    end = np.where(freed, order[last] if count else 0, NONE)
    followed = ~freed & (after < count)
    followed[followed] = same[after[followed]]
    end[followed] = order[after[followed]]
    begin = order[first]
    rank = np.argsort(begin, kind="stable")
    place = np.empty(len(rank), np.int64)
    place[rank] = np.arange(len(rank))
    owner = np.empty(count, np.int64)
    owner[order] = place[lifetime] if count else lifetime
    return Pairs(begin[rank], end[rank], owner)
