"""Live bytes of several series (categories, modules, ...) over time, as step functions that grow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.growing_array import GrowingArray
from tensorscope.compute.pyramid import Pyramid

Longs = NDArray[np.int64]


@dataclass(frozen=True)
class Columns:
    """What a window looks like at pixel resolution, one entry a column.

    Attributes
    ----------
    high_point, low_point
        Point at which the total is largest and smallest within the column, the value it carries
        in from the left included; -1 where nothing is known.
    """

    high_point: Longs
    low_point: Longs


class LiveBytes:
    """Points (time, live bytes by series), one an event and one a baseline.

    A series keeps only the points at which it changed, so a point costs about 40 bytes however
    many series there are, and the sum over the series is the total at every point, in
    integers. Times never go back: events of other threads that arrive late take the time of the
    event before them.

    Parameters
    ----------
    series
        How many there are; the last one takes what has a number beyond.
    """

    def __init__(self, series: int) -> None:
        self.series = series
        self._times = GrowingArray(np.int64)
        self._rows = GrowingArray(np.int64)
        self._total = Pyramid(np.int64)
        self._points = [GrowingArray(np.int64) for _ in range(series)]
        self._bytes = [GrowingArray(np.int64) for _ in range(series)]
        self._now = np.zeros(series, np.int64)
        self.gaps_ns: list[tuple[int, int]] = []
        """Spans of which nothing is known: from the last event before a baseline to the baseline."""

    def __len__(self) -> int:
        return len(self._times)

    @property
    def times_ns(self) -> Longs:
        """Time of every point; borrowed."""
        return self._times.view

    @property
    def rows(self) -> Longs:
        """Row of the ``alloc`` table behind every point; ``-1 - rows before it`` for a baseline."""
        return self._rows.view

    @property
    def total_bytes(self) -> Longs:
        """Sum of all series at every point; borrowed."""
        return self._total.values

    @property
    def now_bytes(self) -> Longs:
        """Live bytes of each series after the last point; a copy."""
        return self._now.copy()

    @property
    def points_touched(self) -> int:
        """How much of the total has been read so far; tests bound it."""
        return self._total.rows_touched

    def reserve(self, points: int) -> None:
        """Make room for `points` points in all, so that many appends in a row never copy."""
        for array in (self._times, self._rows, *self._points, *self._bytes):
            array.reserve(points)
        self._total.reserve(points)

    def start(self, t_ns: int, series_bytes: Longs, rows_before: int) -> None:
        """Begin anew from a baseline: what lies between it and the event before is unknown.

        `rows_before` is how many rows the ``alloc`` table had then.
        """
        last = int(self._times.view[-1]) if len(self) else t_ns
        if t_ns > last:
            self.gaps_ns.append((last, t_ns))
        point = np.array([len(self)])
        for series, size in enumerate(series_bytes):
            self._points[series].append(point)
            self._bytes[series].append(np.array([size]))
        self._now = series_bytes.astype(np.int64)
        self._append_points(np.array([t_ns]), np.array([-1 - rows_before]), np.array([series_bytes.sum()]))

    def append(self, t_ns: Longs, delta_bytes: Longs, series: NDArray[np.integer], rows: Longs) -> None:
        """Append events; `rows` are their rows in the ``alloc`` table."""
        if not len(t_ns):
            return
        known = np.minimum(series, self.series - 1)
        first = len(self)
        total = int(self._now.sum()) + np.cumsum(delta_bytes)
        for index in np.unique(known):
            mine = np.flatnonzero(known == index)
            live = self._now[index] + np.cumsum(delta_bytes[mine])
            self._points[index].append(first + mine)
            self._bytes[index].append(live)
            self._now[index] = live[-1]
        self._append_points(t_ns, rows, total)

    def _append_points(self, t_ns: Longs, rows: Longs, total: Longs) -> None:
        floor = self._times.view[-1] if len(self) else t_ns[0]
        self._times.append(np.maximum(np.maximum.accumulate(t_ns), floor))
        self._rows.append(rows)
        self._total.append(total)

    def series_bytes(self, points: Longs) -> Longs:
        """Return (n_points, n_series) live bytes; zeros for point -1."""
        found = np.zeros((len(points), self.series), np.int64)
        for series in range(self.series):
            at = np.searchsorted(self._points[series].view, points, side="right") - 1
            known = at >= 0
            found[known, series] = self._bytes[series].view[at[known]]
        return found

    def series_points(self, series: int) -> Longs:
        """Return the points at which a series changed; borrowed."""
        return self._points[series].view

    def point_at(self, t_ns: int) -> int:
        """Return the last point at or before `t_ns`, -1 before the first."""
        return int(np.searchsorted(self.times_ns, t_ns, side="right")) - 1

    def rows_until(self, point: int) -> int:
        """Return how many rows of the ``alloc`` table there are up to and with `point`."""
        row = int(self.rows[point])
        return row + 1 if row >= 0 else -1 - row

    def columns(self, edges_ns: Longs, known_until_ns: int) -> Columns:
        """Return the extremes of the total in each [edge, next edge); -1 from `known_until_ns` on.

        A stack drawn of the categories at `high_point` is as high as the total's true maximum
        within the column, and its parts are what was alive at that very event.
        """
        after = np.searchsorted(self.times_ns, edges_ns, side="left")
        start = np.maximum(after[:-1] - 1, 0)
        low, high = self.total_extremes(start, after[1:])
        unknown = self._in_a_gap(edges_ns) | (edges_ns[:-1] >= known_until_ns)
        return Columns(np.where(unknown, -1, high), np.where(unknown, -1, low))

    def total_extremes(self, start: Longs, stop: Longs) -> tuple[Longs, Longs]:
        """Return the point of the least and of the largest total in each [start, stop), -1 for none."""
        return self._total.extremes(start, stop)

    def _in_a_gap(self, edges_ns: Longs) -> NDArray[np.bool_]:
        """Return which columns lie wholly within a gap."""
        gaps = np.array(self.gaps_ns, np.int64).reshape(-1, 2)
        at = np.searchsorted(gaps[:, 0], edges_ns[:-1], side="left") - 1
        inside = at >= 0
        inside[inside] = edges_ns[1:][inside] <= gaps[at[inside], 1]
        return inside
