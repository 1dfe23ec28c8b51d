"""How a strided tensor lies in its storage. Sizes, strides and positions are in elements throughout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]

LAYOUTS = ("scalar", "contiguous", "channels_last", "transposed", "sliced", "expanded", "overlapping")
"""How the elements of a tensor are ordered in its storage; layout columns hold the index.

*sliced*: in order, with gaps; *transposed*: not in order, with or without gaps; *expanded*: an axis
of stride 0 repeats the same elements; *overlapping*: elements share places in another way.
"""
SCALAR, CONTIGUOUS, CHANNELS_LAST, TRANSPOSED, SLICED, EXPANDED, OVERLAPPING = range(len(LAYOUTS))
CHANNELS_LAST_ORDERS = {4: (1, 3, 2, 0), 5: (1, 4, 3, 2, 0)}
SEARCH_BUDGET = 20_000
MAX_RUNS = 1 << 16


@dataclass(frozen=True)
class Strided:
    """Sizes, strides and storage offset of one tensor."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def numel(self) -> int:
        """Return the number of elements."""
        count = 1
        for size in self.sizes:
            count *= size
        return count

    @property
    def reach(self) -> tuple[int, int]:
        """Return the first position that is read and the one after the last; both offset if empty."""
        if self.numel == 0:
            return self.offset, self.offset
        steps = [(n - 1) * s for n, s in zip(self.sizes, self.strides, strict=True)]
        low = self.offset + sum(step for step in steps if step < 0)
        return low, self.offset + sum(step for step in steps if step > 0) + 1

    def position(self, index: Sequence[int]) -> int:
        """Return where in the storage the element at `index` lies."""
        return self.offset + sum(i * s for i, s in zip(index, self.strides, strict=True))

    def repeats(self) -> int:
        """Return how many elements each place serves because of axes of stride 0."""
        count = 1
        for n, s in zip(self.sizes, self.strides, strict=True):
            count *= n if s == 0 else 1
        return count


def padded(ndim: NDArray[np.integer], flat: Longs, fill: int) -> Longs:
    """Return a (tensors, axes) matrix of ragged `flat`; missing axes hold `fill` and come first."""
    most = int(ndim.max()) if len(ndim) else 0
    matrix = np.full((len(ndim), most), fill, np.int64)
    matrix[np.arange(most) >= most - ndim.astype(np.int64)[:, None]] = flat
    return matrix


def layouts(ndim: NDArray[np.integer], sizes_flat: Longs, strides_flat: Longs) -> NDArray[np.uint8]:
    """Return the index into `LAYOUTS` of every tensor; sizes and strides one after the other."""
    sizes, strides = padded(ndim, sizes_flat, 1), padded(ndim, strides_flat, 0)
    empty, real = (sizes == 0).any(axis=1), sizes > 1
    result = np.full(len(ndim), TRANSPOSED, np.uint8)
    in_order, apart = _in_order(sizes, strides), _surely_apart(sizes, strides)
    result[in_order & apart] = SLICED
    for row in np.flatnonzero(~apart & ~empty):
        if overlaps(sizes[row].tolist(), strides[row].tolist()):
            result[row] = OVERLAPPING
    result[(real & (strides == 0)).any(axis=1)] = EXPANDED
    for axes, order in CHANNELS_LAST_ORDERS.items():
        rows = np.flatnonzero(ndim == axes)
        if not len(rows):
            continue
        last = sizes.shape[1] - axes
        dense = _dense(sizes[rows][:, last:], strides[rows][:, last:], order)
        result[rows[dense]] = CHANNELS_LAST
    result[_dense(sizes, strides, range(sizes.shape[1] - 1, -1, -1)) | empty] = CONTIGUOUS
    result[ndim == 0] = SCALAR
    return result


def _dense(sizes: Longs, strides: Longs, order: Sequence[int]) -> NDArray[np.bool_]:
    """Return which rows have no gap with the axes nested in `order`, innermost first (as torch decides)."""
    dense, expected = np.ones(len(sizes), bool), np.ones(len(sizes), np.int64)
    for axis in order:
        dense &= (sizes[:, axis] == 1) | (strides[:, axis] == expected)
        expected = expected * sizes[:, axis]
    return dense


def _in_order(sizes: Longs, strides: Longs) -> NDArray[np.bool_]:
    """Return which rows have strides that never grow from one real axis to the next."""
    ordered, outer = np.ones(len(sizes), bool), np.full(len(sizes), np.iinfo(np.int64).max)
    for axis in range(sizes.shape[1]):
        real = sizes[:, axis] > 1
        ordered &= ~real | (strides[:, axis] <= outer)
        outer = np.where(real, strides[:, axis], outer)
    return ordered


def _surely_apart(sizes: Longs, strides: Longs) -> NDArray[np.bool_]:
    """Return which rows cannot overlap: each stride steps over all that the smaller ones reach."""
    strides = np.where(sizes > 1, np.abs(strides), 0)
    order = np.argsort(strides, axis=1, kind="stable")
    steps, counts = np.take_along_axis(strides, order, 1), np.take_along_axis(sizes, order, 1)
    apart, reach = np.ones(len(sizes), bool), np.zeros(len(sizes), np.int64)
    for axis in range(sizes.shape[1]):
        real = counts[:, axis] > 1
        apart &= ~real | (steps[:, axis] > reach)
        reach = reach + np.where(real, steps[:, axis] * (counts[:, axis] - 1), 0)
    return apart


def overlaps(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether two elements share a place: whether some non-zero difference of indices adds to 0."""
    if any(size == 0 for size in sizes):
        return False
    spans = tuple(2 * size - 1 for size in sizes)
    middle = -sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    found = elements_at(Strided(spans, tuple(strides), middle), 0, limit=2)
    return len(found) != 1  # the zero difference is always there; none means the search gave up


def elements_at(tensor: Strided, position: int, limit: int = 256) -> Longs:
    """Return the indices of the elements that lie at `position`, at most `limit`, as (found, axes).

    A walk over the axes from the largest stride down; an index is tried only if the axes that are
    left can still make up the rest. Empty if `SEARCH_BUDGET` is used up.
    """
    axes = len(tensor.sizes)
    if tensor.numel == 0:
        return np.empty((0, axes), np.int64)
    order = sorted(range(axes), key=lambda axis: -abs(tensor.strides[axis]))
    low, high = _rest_reach(tensor, order)
    found: list[list[int]] = []
    stack: list[tuple[int, tuple[int, ...]]] = [(position - tensor.offset, ())]
    budget = SEARCH_BUDGET
    while stack and len(found) < limit:
        budget -= 1
        if budget < 0:
            return np.empty((0, axes), np.int64)
        rest, chosen = stack.pop()
        level = len(chosen)
        if level == axes:
            if rest == 0:
                found.append([i for _, i in sorted(zip(order, chosen, strict=True))])
            continue
        n, s = tensor.sizes[order[level]], tensor.strides[order[level]]
        first, last = _index_range(rest, n, s, low[level + 1], high[level + 1])
        last = min(last, first + limit - 1) if s == 0 else last
        stack += [(rest - i * s, (*chosen, i)) for i in range(last, first - 1, -1)]
    return np.array(found, np.int64).reshape(len(found), axes)


def _rest_reach(tensor: Strided, order: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the least and greatest sum that the axes from each level on can make."""
    low, high = [0], [0]
    for axis in reversed(order):
        step = (tensor.sizes[axis] - 1) * tensor.strides[axis]
        low.append(low[-1] + min(step, 0))
        high.append(high[-1] + max(step, 0))
    return low[::-1], high[::-1]


def _index_range(rest: int, n: int, s: int, low: int, high: int) -> tuple[int, int]:
    """Return the indices i of 0..n-1 with low <= rest - i*s <= high; an empty range if there is none."""
    if s == 0:
        return (0, n - 1) if low <= rest <= high else (0, -1)
    near, far = (rest - high, rest - low) if s > 0 else (rest - low, rest - high)
    return max(0, -(-near // s)), min(n - 1, far // s)
