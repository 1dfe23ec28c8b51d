"""A column with holes: only its finite values, and where the extremes of any range of rows are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.growing_array import GrowingArray
from tensorscope.compute.pyramid import Pyramid

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]


class FiniteSeries:
    """Rows that hold a finite value, with a pyramid over them."""

    def __init__(self) -> None:
        self._rows = GrowingArray(np.int64)
        self._pyramid = Pyramid(np.float64)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def rows_touched(self) -> int:
        """Rows and blocks read so far; tests bound it."""
        return self._pyramid.rows_touched

    def append(self, first_row: int, values: Floats) -> None:
        """Append the values of rows ``first_row, first_row + 1, ...``, non-finite ones left out."""
        kept = np.flatnonzero(np.isfinite(values))
        self._rows.append(first_row + kept)
        self._pyramid.append(values[kept])

    def highest(self, edges: Longs) -> Longs:
        """Return the row of the largest value in each [edge, next edge), -1 where there is none."""
        return self._rows_at(self._positions(edges)[1])

    def lowest(self, edges: Longs) -> Longs:
        """Return the row of the smallest value in each [edge, next edge), -1 where there is none."""
        return self._rows_at(self._positions(edges)[0])

    def _rows_at(self, at: Longs) -> Longs:
        found = np.full(len(at), -1, np.int64)
        found[at >= 0] = self._rows.view[at[at >= 0]]
        return found

    def envelope(self, edges: Longs) -> tuple[Longs, Floats]:
        """Return rows and values of a line through the lowest and highest value of every column.

        No more than two points a column, in row order; every row where columns hold one each.
        """
        low, high = self._positions(edges)
        at = np.unique(np.concatenate([low[low >= 0], high[high >= 0]]))
        return self._rows.view[at], self._pyramid.values[at]

    def _positions(self, edges: Longs) -> tuple[Longs, Longs]:
        at = np.searchsorted(self._rows.view, edges, side="left")
        return self._pyramid.extremes(at[:-1], at[1:])
