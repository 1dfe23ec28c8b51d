"""What leaks, and what only looks like it."""

import numpy as np
import pytest

from tensorscope.compute.survivors import group_growth

LAST = 40


def growth_of(steps, size=100):
    steps = np.array(steps, np.int64)
    found = group_growth(steps, np.zeros(len(steps), np.int64), np.full(len(steps), size, np.int64), 0, LAST)
    return found[0] if found else None


@pytest.mark.parametrize(
    ("name", "steps", "leaks"),
    [
        ("a list of losses", range(LAST + 1), True),
        ("two blocks a step", sorted([*range(LAST + 1)] * 2), True),
        ("every fifth step", range(0, LAST + 1, 5), True),
        ("optimizer state", [0, 0, 0, 1], False),
        ("a cache that fills in the first steps", range(12), False),
        ("a queue of the last eight", range(LAST - 7, LAST + 1), False),
        ("cycles that the collector has not found yet", range(LAST - 15, LAST + 1), False),
        ("prefetched batches", [LAST - 1, LAST], False),
        ("buffers made late and kept", [30, 30, 30], False),
    ],
)
def test_that_only_what_began_early_and_goes_on_leaks(name, steps, leaks):
    growth = growth_of(list(steps))
    assert (growth is not None and growth.leaks) == leaks


def test_that_a_short_run_proves_nothing():
    steps = np.arange(7)
    found = group_growth(steps, np.zeros(7, np.int64), np.full(7, 8), 0, 6)
    assert not found[0].leaks


def test_that_rates_are_those_of_a_typical_step():
    steps = np.array([5] * 3 + [6] * 3 + [7] * 3 + [8] * 30)
    found = group_growth(steps, np.zeros(len(steps), np.int64), np.full(len(steps), 10), 0, LAST)[0]
    assert (found.bytes_per_step, found.blocks_per_step) == (30, 3)
    assert (found.first_step, found.last_step, found.steps_seen) == (5, 8, 4)
    assert found.steps_looked_at == LAST - 2 - 2 + 1
