"""A numpy column that grows at its end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class GrowingArray:
    """One-dimensional, amortised O(1) append. One thread at a time."""

    def __init__(self, dtype: DTypeLike, capacity: int = 1024) -> None:
        self._array: NDArray[Any] = np.empty(capacity, dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def view(self) -> NDArray[Any]:
        """The filled part; borrowed, valid until the next append."""
        return self._array[: self._length]

    def reserve(self, capacity: int) -> None:
        """Make room for `capacity` rows in all, so that appends up to there copy nothing."""
        if capacity > len(self._array):
            grown = np.empty(capacity, self._array.dtype)
            grown[: self._length] = self._array[: self._length]
            self._array = grown

    def append(self, values: NDArray[Any]) -> None:
        """Append `values`."""
        stop = self._length + len(values)
        if stop > len(self._array):
            self.reserve(max(stop, 2 * len(self._array)))
        self._array[self._length : stop] = values
        self._length = stop
