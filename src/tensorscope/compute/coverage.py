"""Which places of a storage a tensor reads, and how often, without a loop over its elements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.strides import MAX_RUNS, Longs, Strided

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Runs:
    """What a tensor reads as stretches of its storage, sorted by start; they may overlap.

    Attributes
    ----------
    starts, length
        Each stretch is [start, start + length).
    reads
        How many elements lie in each stretch; `length` of them where it is read without gaps.
    exact
        False if gaps within the stretches are known by their share only (there were too many).
    """

    starts: Longs
    length: int
    reads: int
    exact: bool


def runs_of(tensor: Strided, max_runs: int = MAX_RUNS) -> Runs:
    """Return the stretches that `tensor` reads; stride-0 repeats are left out (`Strided.repeats`)."""
    if tensor.numel == 0:
        return Runs(np.empty(0, np.int64), 0, 0, True)
    axes = sorted((abs(s), n) for n, s in zip(tensor.sizes, tensor.strides, strict=True) if s and n > 1)
    length, reads, exact = 1, 1, True
    while axes and axes[0][0] == length and exact:  # grows while each axis begins where the last one ended
        stride, count = axes.pop(0)
        length, reads = stride * count, reads * count
    while axes and int(np.prod([count for _, count in axes], dtype=np.float64)) > max_runs:
        stride, count = axes.pop(0)
        length, reads, exact = length + stride * (count - 1), reads * count, False
    starts = np.full(1, tensor.reach[0], np.int64)
    for stride, count in reversed(axes):
        starts = (starts[:, None] + stride * np.arange(count, dtype=np.int64)).ravel()
    starts.sort()
    return Runs(starts, length, reads, exact)


def distinct_elems(runs: Runs) -> int | None:
    """Return how many different places are read, None if that is not known exactly."""
    if not runs.exact:
        return None
    if not len(runs.starts):
        return 0
    apart = np.minimum(np.diff(runs.starts), runs.length)
    return int(apart.sum()) + runs.length


def reads_between(runs: Runs, edges: Floats) -> Floats:
    """Return how many reads fall into each [edges[i], edges[i+1]); a stretch spreads evenly."""
    if not len(runs.starts):
        return np.zeros(len(edges) - 1)
    return np.diff(_reads_below(runs, edges))


def _reads_below(runs: Runs, places: Floats) -> Floats:
    """Return how many reads lie below each place."""
    starts = runs.starts.astype(np.float64)
    ended = np.searchsorted(starts, places - runs.length, side="right")
    begun = np.searchsorted(starts, places, side="left")
    sums = np.concatenate([[0.0], np.cumsum(starts)])
    inside = (begun - ended) * places - (sums[begun] - sums[ended])
    below: Floats = (ended * runs.length + inside) * (runs.reads / runs.length)
    return below


def covered_between(runs: Runs, edges: Floats) -> Floats:
    """Return how many places of each [edges[i], edges[i+1]) are read at all.

    Exact where `Runs.exact`; otherwise the places of a stretch that are read are taken to be spread
    evenly over it.
    """
    if not len(runs.starts):
        return np.zeros(len(edges) - 1)
    starts = runs.starts.astype(np.float64)
    apart = np.append(np.minimum(np.diff(starts), runs.length), runs.length)
    before = np.concatenate([[0.0], np.cumsum(apart)])
    at = np.searchsorted(starts, edges, side="right") - 1
    clipped = np.maximum(at, 0)
    within = np.minimum(edges - starts[clipped], apart[clipped])
    below = np.where(at < 0, 0.0, before[clipped] + within)
    return np.diff(below) * min(1.0, runs.reads / runs.length)
