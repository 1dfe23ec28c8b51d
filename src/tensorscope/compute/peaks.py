"""Distinct peaks of a curve, and how much of the highest is owed to what lives only for a moment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]


def distinct_peaks(total: Longs, count: int, dip_share: float) -> list[int]:
    """Return up to `count` positions of peaks, highest first.

    Two peaks are distinct where the curve falls, somewhere between them, by at least `dip_share` of
    the highest below the lower of the two.
    """
    if not len(total):
        return []
    highest = int(np.argmax(total))
    found, dip = [highest], float(dip_share * total[highest])
    apart = _least_from(total, highest)
    while len(found) < count:
        rises = np.where(total - apart >= dip, total, -1)
        at = int(np.argmax(rises))
        if dip <= 0 or rises[at] <= 0:
            break
        found.append(at)
        # The saddle to whichever chosen peak is nearest in height decides.
        apart = np.maximum(apart, _least_from(total, at))
    return found


def _least_from(total: Longs, at: int) -> Longs:
    """Return, for each position, the least of the curve between it and `at`."""
    left = np.minimum.accumulate(total[: at + 1][::-1])[::-1]
    right = np.minimum.accumulate(total[at:])
    return np.concatenate([left, right[1:]])


def level_of(from_row: Longs, until_row: Longs, size_bytes: Longs, rows: int) -> Longs:
    """Return what blocks hold before each of ``rows + 1`` rows, each from its first row to its last."""
    change = np.zeros(rows + 2, np.int64)
    np.add.at(change, np.minimum(from_row, rows + 1), size_bytes)
    np.subtract.at(change, np.minimum(until_row, rows + 1), size_bytes)
    return np.cumsum(change)[: rows + 1]
