"""Live bytes at the ends of steps, for formats that do not record them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]


def step_bytes(ends_ns: Longs, t_ns: Longs, delta_bytes: Longs, start_bytes: int) -> tuple[Longs, Longs]:
    """Return live bytes at the end of each step, and the most within it, over all devices."""
    points = np.append(start_bytes, start_bytes + np.cumsum(delta_bytes)).astype(np.int64)
    at = np.searchsorted(t_ns, ends_ns, side="right")
    begins = np.append(0, at)[: len(at)]
    peak = [points[begin : end + 1].max() for begin, end in zip(begins, at, strict=True)]
    return points[at], np.array(peak, np.int64)
