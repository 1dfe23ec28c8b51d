"""Smallest and largest value of any range of rows, without touching the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tensorscope.compute.growing_array import GrowingArray

FACTOR = 4
MAX_LEVELS = 24

Rows = NDArray[np.int64]


class Pyramid:
    """Where the extremes of a growing column lie.

    Level k holds, for each whole block of ``FACTOR ** k`` rows, the row of its smallest and of its
    largest value, so the answer to a range is exact, and names a row, from which every other
    column of the same event can be read. An append touches its own rows and the blocks they
    complete; a range costs O(log rows). Values are finite (filter NaN out before).
    """

    def __init__(self, dtype: DTypeLike) -> None:
        self._values = GrowingArray(dtype)
        self._lowest: list[GrowingArray] = []
        self._highest: list[GrowingArray] = []
        self.rows_touched = 0
        """Rows and blocks read so far by appends and queries; tests bound it."""

    def __len__(self) -> int:
        return len(self._values)

    @property
    def values(self) -> NDArray[Any]:
        """The column; borrowed, valid until the next append."""
        return self._values.view

    def reserve(self, rows: int) -> None:
        """Make room for `rows` rows in all."""
        self._values.reserve(rows)
        blocks = rows
        for level in range(MAX_LEVELS):
            blocks //= FACTOR
            if not blocks:
                break
            self._add_level(level)
            for arrays in (self._lowest, self._highest):
                arrays[level].reserve(blocks)

    def _add_level(self, level: int) -> None:
        if level == len(self._lowest):
            self._lowest.append(GrowingArray(np.int64))
            self._highest.append(GrowingArray(np.int64))

    def append(self, values: NDArray[Any]) -> None:
        """Append rows."""
        self._values.append(values)
        self.rows_touched += len(values)
        below = len(self._values)
        level = 0
        while below >= FACTOR:
            self._add_level(level)
            start, stop = len(self._lowest[level]), below // FACTOR
            if start < stop:
                self._build(level, start, stop)
            below, level = stop, level + 1

    def _build(self, level: int, start: int, stop: int) -> None:
        rows = slice(start * FACTOR, stop * FACTOR)
        count = stop - start
        self.rows_touched += count * FACTOR
        pick = np.arange(count)
        for arrays, choose in ((self._lowest, np.argmin), (self._highest, np.argmax)):
            if level == 0:
                below = np.arange(rows.start, rows.stop, dtype=np.int64)
            else:
                below = arrays[level - 1].view[rows]
            blocks = below.reshape(count, FACTOR)
            arrays[level].append(blocks[pick, choose(self.values[blocks], axis=1)])

    def extremes(self, start: Rows, stop: Rows) -> tuple[Rows, Rows]:
        """Return the row of the smallest and of the largest value in each [start, stop).

        Empty ranges give -1. `start` and `stop` are equally long and within the column.
        """
        first, last = start.astype(np.int64), np.maximum(stop, start).astype(np.int64)
        lowest = np.full(len(first), -1, np.int64)
        highest = lowest.copy()
        for level in range(len(self._lowest) + 1):
            open_ranges = np.flatnonzero(first < last)
            if not len(open_ranges):
                break
            head = np.minimum(-(-first // FACTOR) * FACTOR, last)
            tail = np.maximum(last // FACTOR * FACTOR, head)
            for begin, end in ((first, head), (tail, last)):
                self._take(level, begin, end, lowest, highest)
            first, last = head // FACTOR, tail // FACTOR
        return lowest, highest

    def _take(self, level: int, begin: Rows, end: Rows, lowest: Rows, highest: Rows) -> None:
        """Fold the at most ``FACTOR - 1`` blocks [begin, end) of `level` into the answers."""
        for offset in range(FACTOR - 1):
            ranges = np.flatnonzero(begin + offset < end)
            if not len(ranges):
                return
            blocks = begin[ranges] + offset
            self.rows_touched += 2 * len(ranges)
            for best, arrays, sign in ((lowest, self._lowest, -1), (highest, self._highest, 1)):
                rows = blocks if level == 0 else arrays[level - 1].view[blocks]
                known = best[ranges]
                gain = sign * (self.values[rows] - self.values[known])
                better = (known < 0) | (gain > 0)
                best[ranges[better]] = rows[better]
