"""The horizontal axis of the memory timeline: time, or the number of the event."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.live_bytes import Columns, LiveBytes

Longs = NDArray[np.int64]

TIME, EVENT = "time", "event"
EVENT_UNITS = 1000
"""Axis units of one event, so that a window can be narrower than an event."""


_LEFT: Literal["left"] = "left"
_RIGHT: Literal["right"] = "right"


class MemoryAxis:
    """Turns moments into axis units and back: nanoseconds since the origin, or thousandths of an event.

    Event number k lies from ``k * EVENT_UNITS`` to ``(k + 1) * EVENT_UNITS``.
    """

    def __init__(self, kind: str, live: LiveBytes, known_until_ns: int) -> None:
        self.kind = kind
        self._live = live
        self._known_until_ns = known_until_ns

    @property
    def units_per_label(self) -> float:
        """Axis units of what the labels count: seconds, or events."""
        return 1e9 if self.kind == TIME else float(EVENT_UNITS)

    def span(self) -> tuple[int, int]:
        """Return where the first point lies, and up to where anything is known."""
        times = self._live.times_ns
        if not len(times):
            return 0, EVENT_UNITS
        if self.kind == EVENT:
            return 0, len(times) * EVENT_UNITS
        return int(times[0]), max(int(times[-1]), self._known_until_ns)

    def of_times(self, t_ns: Longs) -> Longs:
        """Return where moments lie: on the event axis, behind the last event at or before each."""
        if self.kind == TIME:
            return t_ns
        return np.searchsorted(self._live.times_ns, t_ns, side="right").astype(np.int64) * EVENT_UNITS

    def of_time(self, t_ns: int) -> int:
        """Return where one moment lies; on the event axis, in the middle of its event."""
        if self.kind == TIME:
            return t_ns
        return self._live.point_at(t_ns) * EVENT_UNITS + EVENT_UNITS // 2

    def of_points(self, points: Longs) -> Longs:
        """Return where points lie; on the event axis, the middles of their events."""
        if self.kind == TIME:
            return self._live.times_ns[points]
        return points * EVENT_UNITS + EVENT_UNITS // 2

    def of_point(self, point: int) -> int:
        """Return where one point lies."""
        return int(self.of_points(np.array([point], np.int64))[0])

    def point_at(self, x: int) -> int:
        """Return the last point at or before `x`, -1 before the first."""
        if self.kind == TIME:
            return self._live.point_at(x)
        return min(x // EVENT_UNITS, len(self._live) - 1)

    def to_ns(self, x: int) -> int:
        """Return the moment at `x`."""
        if self.kind == TIME or not len(self._live):
            return x
        return int(self._live.times_ns[max(0, self.point_at(x))])

    def to_times(self, x: Longs) -> Longs:
        """Return the moments at `x`."""
        if self.kind == TIME or not len(self._live):
            return x
        return self._live.times_ns[np.clip(x // EVENT_UNITS, 0, len(self._live) - 1)]

    def within(self, t_ns: Longs, window: tuple[int, int]) -> slice:
        """Return which of `t_ns`, in ascending order, may lie in a window, without placing every one."""
        first, last = self.to_times(np.array(window, np.int64))
        return slice(*(int(np.searchsorted(t_ns, t, side)) for t, side in ((first, _LEFT), (last, _RIGHT))))

    def columns(self, edges: Longs) -> Columns:
        """Return the extremes between edges in axis units."""
        if self.kind == TIME:
            return self._live.columns(edges, self._known_until_ns)
        count = len(self._live)
        start = np.clip(edges[:-1] // EVENT_UNITS, 0, count)
        stop = np.clip(-(-edges[1:] // EVENT_UNITS), 0, count)
        low, high = self._live.total_extremes(start, stop)
        return Columns(high, low)
