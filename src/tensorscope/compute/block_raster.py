"""Many rectangles as pixels: which class covers each, and how much of it is covered.

Every rectangle marks every pixel that it touches, however small it is, so nothing is lost when zoomed out.
The cost is a few visits of each rectangle and of each pixel, whatever the rectangles' sizes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NOTHING = 255


@dataclass(frozen=True, eq=False)
class Raster:
    """Pictures of shape (height, width), row 0 at the smallest y.

    Attributes
    ----------
    class_id
        Class with the most coverage, `NOTHING` where no rectangle touches.
    coverage
        Share of the pixel that is covered, by all classes, 0 to 1; a touched pixel is above 0.
    edge
        Whether the pixel holds the lower or left edge of a rectangle of several pixels.
    """

    class_id: NDArray[np.uint8]
    coverage: NDArray[np.float32]
    edge: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Boxes:
    """Touched pixels, half open, and the share of each pixel."""

    x0: NDArray[np.int64]
    x1: NDArray[np.int64]
    y0: NDArray[np.int64]
    y1: NDArray[np.int64]
    share: Floats


def raster(
    x0: Floats, x1: Floats, y0: Floats, y1: Floats, class_id: NDArray[np.integer], classes: int,
    window: tuple[float, float, float, float], size: tuple[int, int],
) -> Raster:  # fmt: skip
    """Paint rectangles [x0, x1] x [y0, y1].

    Parameters
    ----------
    window
        Left, right, bottom and top of the picture, in the rectangles' coordinates.
    size
        Width and height of the picture in pixels.
    """
    left, right, bottom, top = window
    width, height = size
    seen = np.flatnonzero((x1 >= left) & (x0 < right) & (y1 >= bottom) & (y0 < top))
    kind = class_id[seen]
    scale_x, scale_y = width / (right - left), height / (top - bottom)
    pixels_x = (x0[seen] - left) * scale_x, (x1[seen] - left) * scale_x
    pixels_y = (y0[seen] - bottom) * scale_y, (y1[seen] - bottom) * scale_y
    boxes = _boxes(pixels_x, pixels_y, width, height)
    best = np.zeros((height, width), np.float32)
    total = np.zeros((height, width), np.float32)
    winner = np.full((height, width), NOTHING, np.uint8)
    for one in range(classes):
        mine = np.flatnonzero(kind == one)
        if not len(mine):
            continue
        here = _summed(boxes, mine, width, height)
        total += here
        wins = here > best
        winner[wins] = one
        best[wins] = here[wins]
    edge = _edges(boxes, width, height)
    return Raster(winner, np.minimum(total, 1.0).astype(np.float32), edge)


def _boxes(x: tuple[Floats, Floats], y: tuple[Floats, Floats], width: int, height: int) -> _Boxes:
    share = np.clip(x[1] - x[0], 1e-3, 1.0) * np.clip(y[1] - y[0], 1e-3, 1.0)
    x0, x1 = _touched(*x, width)
    y0, y1 = _touched(*y, height)
    return _Boxes(x0, x1, y0, y1, share)


def _touched(low: Floats, high: Floats, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first touched pixel and the one behind the last."""
    first = np.clip(np.floor(low), 0, count - 1).astype(np.int64)
    last = np.clip(np.ceil(high), 1, count).astype(np.int64)
    return first, np.maximum(last, first + 1)


def _summed(boxes: _Boxes, mine: NDArray[np.int64], width: int, height: int) -> NDArray[np.float32]:
    """Add each box to the pixels it touches, by the differences at its four corners."""
    stride = width + 1
    flat = np.zeros((height + 1) * stride)
    share = boxes.share[mine]
    for y, x, sign in (
        (boxes.y0, boxes.x0, 1), (boxes.y0, boxes.x1, -1), (boxes.y1, boxes.x0, -1), (boxes.y1, boxes.x1, 1)
    ):  # fmt: skip
        flat += np.bincount(y[mine] * stride + x[mine], weights=sign * share, minlength=len(flat))
    grid = flat.reshape(height + 1, stride)
    summed = np.cumsum(np.cumsum(grid, axis=0), axis=1)[:height, :width]
    summed[summed < 1e-9] = 0.0  # what differences of floats leave behind
    found: NDArray[np.float32] = summed.astype(np.float32)
    return found


def _edges(boxes: _Boxes, width: int, height: int) -> NDArray[np.bool_]:
    large = np.flatnonzero((boxes.x1 - boxes.x0 >= 3) & (boxes.y1 - boxes.y0 >= 4))
    one = np.ones(len(large))
    x0, x1, y0, y1 = (column[large] for column in (boxes.x0, boxes.x1, boxes.y0, boxes.y1))
    every = np.arange(len(large))
    lower = _summed(_Boxes(x0, x1, y0, y0 + 1, one), every, width, height)
    left = _summed(_Boxes(x0, x0 + 1, y0, y1, one), every, width, height)
    found: NDArray[np.bool_] = (lower + left) > 0.5
    return found
