"""Differences between two sets of steps, and whether they are more than the steps' own spread."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_TO_SIGMA = 1.4826
"""From the median absolute deviation to the standard deviation, for normal noise."""
_OF_MEDIAN = 1.2533
"""Standard error of a median over that of a mean, for normal noise."""
_TRUST = 2.0


@dataclass(frozen=True)
class Difference:
    """A number in both sides. Values are medians over the steps compared; NaN where nothing is known.

    Attributes
    ----------
    noise
        What the difference may be by chance: twice the combined standard error of the medians.
    """

    name: str
    a: float
    b: float
    noise: float

    @property
    def delta(self) -> float:
        """B minus A."""
        return self.b - self.a

    @property
    def ratio(self) -> float:
        """B over A, NaN where A is 0 or unknown."""
        return self.b / self.a if self.a else math.nan

    @property
    def is_real(self) -> bool:
        """Whether the difference is larger than what chance explains."""
        return abs(self.delta) > self.noise


def difference(name: str, a: Floats, b: Floats) -> Difference:
    """Compare the medians of two samples."""
    a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    if not len(a) or not len(b):
        middle = [float(np.median(side)) if len(side) else math.nan for side in (a, b)]
        return Difference(name, middle[0], middle[1], math.nan)
    noise = _TRUST * math.sqrt(_error_squared(a) + _error_squared(b))
    return Difference(name, float(np.median(a)), float(np.median(b)), noise)


def _error_squared(values: Floats) -> float:
    spread = _OF_MEDIAN * _TO_SIGMA * float(np.median(np.abs(values - np.median(values))))
    return spread * spread / len(values)


def growth_per_step(live_bytes: Floats) -> float:
    """Return the median rise of live bytes from step to step, NaN for fewer than two steps.

    Robust against a cache that is filled once, and against a peak in one step.
    """
    return float(np.median(np.diff(live_bytes))) if len(live_bytes) > 1 else math.nan


def phase_edges(bounds_ns: tuple[int, int, int, int], parts: int) -> NDArray[np.int64]:
    """Return the edges of the columns in which one step is looked at, so that steps of any length compare.

    Parameters
    ----------
    bounds_ns
        Begin of the step, of its first backward, of its first optimizer step, and its end; where a phase
        is missing, the time of the next one stands in its place.
    parts
        How many equal columns each of the three stretches has.
    """
    low, high = bounds_ns[:-1], bounds_ns[1:]
    stretches = [np.linspace(a, b, parts, endpoint=False) for a, b in zip(low, high, strict=True)]
    return np.concatenate([*stretches, [bounds_ns[-1]]]).astype(np.int64)
