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
    top = np.cumsum(heights, axis=1, dtype=float)
    bottom = top - heights
    apart = np.ones(len(x0), bool)
    apart[1:] = x0[1:] != x1[:-1]
    parts = [
        _merged(x0, x1, bottom[:, class_id], top[:, class_id], apart, class_id)
        for class_id in range(heights.shape[1])
    ]
    return StackRects(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _merged(
    x0: Floats, x1: Floats, y0: Floats, y1: Floats, apart: NDArray[np.bool_], class_id: int
) -> StackRects:
    changed = apart.copy()
    changed[1:] |= (np.diff(y0) != 0) | (np.diff(y1) != 0)
    first = np.flatnonzero(changed)
    last = np.append(first[1:], len(x0)) - 1
    tall = y1[first] > y0[first]
    first, last = first[tall], last[tall]
    return StackRects(x0[first], x1[last], y0[first], y1[first], np.full(len(first), class_id, np.uint8))
