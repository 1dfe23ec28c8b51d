"""Blocks that outlive their step, step after step: who grows, by how much, and since when.

A group of blocks (one module, line and category) *leaks* where what it made in steps from the first
quarter of the recording to the last quarter is still alive at the end. So neither state that is made
once, nor a cache that has filled up, nor a queue that drops its oldest, nor what waits for the garbage
collector can look like a leak: each of them lacks the old ones, or the young ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]

WARM_UP_STEPS = 2
RECENT_STEPS = 2
"""What the newest steps made may be freed in the next one: it proves nothing."""
LEAST_STEPS = 6
"""Fewer steps between warm-up and the newest prove nothing."""
LEAST_SEEN = 4
"""In so many steps at least a group must have left something behind."""


@dataclass(frozen=True)
class GroupGrowth:
    """What one group left behind.

    Attributes
    ----------
    bytes_per_step, blocks_per_step
        Medians over the steps in which it left anything.
    steps_seen, steps_looked_at
        In how many of the steps it left anything.
    leaks
        See the module's description.
    """

    group: int
    total_bytes: int
    blocks: int
    bytes_per_step: int
    blocks_per_step: int
    first_step: int
    last_step: int
    steps_seen: int
    steps_looked_at: int
    leaks: bool


def group_growth(step: Longs, group: Longs, size_bytes: Longs, first: int, last: int) -> list[GroupGrowth]:
    """Return what each group left behind in steps `first` to `last`, the most bytes first.

    Parameters
    ----------
    step, group, size_bytes
        One entry a block that is alive at the end of the recording.
    """
    begin, end = first + WARM_UP_STEPS, last - RECENT_STEPS
    looked_at = end - begin + 1
    inside = (step >= begin) & (step <= end)
    if looked_at < 1 or not inside.any():
        return []
    step, group, size_bytes = step[inside] - begin, group[inside], size_bytes[inside]
    found = []
    for one in np.unique(group).tolist():
        mine = group == one
        by_step = np.bincount(step[mine], weights=size_bytes[mine], minlength=looked_at).astype(np.int64)
        blocks = np.bincount(step[mine], minlength=looked_at)
        seen = np.flatnonzero(blocks)
        per_step = int(np.median(by_step[seen])), int(np.median(blocks[seen]))
        found.append(
            GroupGrowth(
                one, int(by_step.sum()), int(blocks.sum()), *per_step, int(seen[0]) + begin,
                int(seen[-1]) + begin, len(seen), looked_at, _leaks(seen, looked_at),
            )
        )  # fmt: skip
    return sorted(found, key=lambda growth: (not growth.leaks, -growth.total_bytes))


def _leaks(seen: Longs, looked_at: int) -> bool:
    if looked_at < LEAST_STEPS or len(seen) < LEAST_SEEN:
        return False
    quarter = looked_at / 4
    return bool(seen[0] < quarter and seen[-1] >= looked_at - quarter)
