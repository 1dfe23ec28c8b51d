"""Distinct peaks and levels, against what brute force finds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tensorscope.compute.peaks import distinct_peaks, level_of


def brute_force(total, count, dip_share):
    """Return peaks by trying every position, highest first."""
    dip = dip_share * max(total)
    found = []
    for at in sorted(range(len(total)), key=lambda i: (-total[i], i)):
        apart = all(total[at] - min(total[min(at, p) : max(at, p) + 1]) >= dip for p in found)
        if total[at] > 0 and (not found or (apart and dip > 0)):
            found.append(at)
    return found[:count]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=40), st.sampled_from([0.05, 0.2, 0.5]))
def test_that_peaks_are_those_of_brute_force(total, dip_share):
    found = distinct_peaks(np.array(total, np.int64), 3, dip_share)
    if max(total) > 0:
        assert found == brute_force(total, 3, dip_share)


def test_that_a_plateau_with_ripples_is_one_peak():
    total = np.array([0, 100, 99, 100, 98, 100, 0, 60, 59, 0, 90, 0], np.int64)
    assert distinct_peaks(total, 3, 0.05) == [1, 10, 7]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(1, 99)), max_size=30))
def test_that_the_level_is_the_sum_of_what_lives(blocks):
    spans = [(min(a, b), max(a, b), size) for a, b, size in blocks]
    begin, end, size = (
        np.array(column, np.int64) for column in (zip(*spans, strict=True) if spans else [[]] * 3)
    )
    level = level_of(begin, end, size, 20)
    expected = [sum(s for a, b, s in spans if a <= row < b) for row in range(21)]
    assert level.tolist() == expected
