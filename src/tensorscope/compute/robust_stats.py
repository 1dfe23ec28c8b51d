"""Medians and how far they can be trusted, without assuming a distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """An estimate and its confidence interval; the ends are NaN when there are too few values."""

    value: float
    low: float
    high: float
    count: int

    @property
    def known(self) -> bool:
        """Whether there were enough values for the interval."""
        return math.isfinite(self.low) and math.isfinite(self.high)


def median_interval(values: Floats, confidence: float = 0.95) -> Interval:
    """Return the median with the interval of order statistics that covers it.

    Exact for any continuous distribution of independent values: the number of values below the
    true median is binomial(n, 1/2). Needs six values for 95 %. NaN are left out.
    """
    ordered = np.sort(values[np.isfinite(values)])
    count = len(ordered)
    if not count:
        return Interval(math.nan, math.nan, math.nan, 0)
    median = float(np.median(ordered))
    rank = _lower_rank(count, (1 - confidence) / 2)
    if rank < 0:
        return Interval(median, math.nan, math.nan, count)
    return Interval(median, float(ordered[rank]), float(ordered[count - 1 - rank]), count)


def _lower_rank(count: int, tail: float) -> int:
    """Return the largest r with P(binomial(count, 1/2) <= r) <= tail, -1 if there is none."""
    if count > 1000:  # the normal approximation is exact to well under one rank here
        return math.floor(count / 2 - 0.5 - _normal_quantile(tail) * math.sqrt(count) / 2)
    total, rank = 0.0, -1
    for k in range(count):
        total += math.comb(count, k) * 0.5**count
        if total > tail:
            break
        rank = k
    return rank


def _normal_quantile(tail: float) -> float:
    """Return z with P(normal > z) = tail, by bisection on erfc."""
    low, high = 0.0, 40.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) / 2 > tail else (low, middle)
    return low


def paired_ratio(base: Floats, other: Floats, confidence: float = 0.95) -> Interval:
    """Return the median of ``other / base`` over pairs, on the log scale, with its interval."""
    logs = median_interval(np.log(other) - np.log(base), confidence)
    return Interval(math.exp(logs.value), math.exp(logs.low), math.exp(logs.high), logs.count)


def percentile(values: Floats, percent: float) -> float:
    """Return a percentile of the finite values, NaN if there are none."""
    finite = values[np.isfinite(values)]
    return float(np.percentile(finite, percent)) if len(finite) else math.nan
