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
    """Stack `heights` of shape (bars, classes), class 0 at the bottom, each bar on its own [x0, x1].

    Bars that touch and lie at the same height in a class become one rectangle: a level that
    lasts costs one rectangle, and has no seams where edges are smoothed.
    """
    top = np.cumsum(heights, axis=1, dtype=float).T
    bottom = top - heights.T
    changed = np.ones(top.shape, bool)
    changed[:, 1:] = (bottom[:, 1:] != bottom[:, :-1]) | (top[:, 1:] != top[:, :-1]) | (x0[1:] != x1[:-1])
    class_ids, first = np.nonzero(changed)
    last = np.append(first[1:], 0) - 1
    last[last < 0] = len(x0) - 1  # the last of a class: the next begins at bar 0
    tall = np.flatnonzero(top[class_ids, first] > bottom[class_ids, first])
    class_ids, first, last = class_ids[tall], first[tall], last[tall]
    y0, y1 = bottom[class_ids, first], top[class_ids, first]
    return StackRects(x0[first], x1[last], y0, y1, class_ids.astype(np.uint8))
