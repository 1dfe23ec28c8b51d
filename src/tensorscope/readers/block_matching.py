"""Addresses for events that were recorded without any: a free goes to the youngest block like it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

FIRST_ADDRESS = 1 << 20


class BlockMatcher:
    """Gives each block a made-up address of its own; blocks are told apart by `key` (size, device, ...).

    Totals are exact whatever is matched; which of several equal blocks went is a guess.
    """

    def __init__(self) -> None:
        self._living: dict[Hashable, list[int]] = {}
        self._next = FIRST_ADDRESS

    def begin(self, key: Hashable, size_bytes: int) -> int:
        """Return the address of a new block."""
        address = self._next
        self._next += -(-max(size_bytes, 1) // 64) * 64
        self._living.setdefault(key, []).append(address)
        return address

    def end(self, key: Hashable, size_bytes: int) -> int:
        """Return the address of the youngest block like `key`, or one that nobody has seen begin."""
        living = self._living.get(key)
        if living:
            return living.pop()
        address = self._next
        self._next += -(-max(size_bytes, 1) // 64) * 64
        return address

    def become(self, key: Hashable, new_key: Hashable) -> int | None:
        """Make a block like `key` one like `new_key`; None if there is none."""
        living = self._living.get(key)
        if not living:
            return None
        address = living.pop()
        self._living.setdefault(new_key, []).append(address)
        return address


def matched_addresses(deltas: Iterable[int], devices: Iterable[int]) -> NDArray[np.uint64]:
    """Return an address for each allocation (delta > 0) and free of a stream without addresses."""
    matcher = BlockMatcher()
    found = [
        matcher.begin((delta, device), delta) if delta > 0 else matcher.end((-delta, device), -delta)
        for delta, device in zip(deltas, devices, strict=True)
    ]
    return np.array(found, np.uint64)
