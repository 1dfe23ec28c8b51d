"""Rectangles of stacked bars, from heights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class StackRects(NamedTuple):
    """Rectangles [x0, x1] x [y0, y1] of a class each; those without height are left out."""

    x0: Floats
    x1: Floats
    y0: Floats
    y1: Floats
    class_ids: NDArray[np.uint8]


def stacked_rects(x0: Floats, x1: Floats, heights: NDArray[np.number]) -> StackRects:
    """Stack `heights` of shape (bars, classes), class 0 at the bottom, each bar on its own [x0, x1]."""
    top = np.cumsum(heights, axis=1, dtype=float)
    bar, class_id = np.nonzero(heights > 0)
    y1 = top[bar, class_id]
    return StackRects(x0[bar], x1[bar], y1 - heights[bar, class_id], y1, class_id.astype(np.uint8))
