import math

import numpy as np
import pytest

from tensorscope.compute.robust_stats import _lower_rank, median_interval, paired_ratio, percentile


def test_that_five_values_are_too_few_for_an_interval_and_six_are_enough():
    assert not median_interval(np.arange(5.0)).known
    six = median_interval(np.arange(6.0))
    assert (six.value, six.low, six.high, six.count) == (2.5, 0.0, 5.0, 6)


@pytest.mark.parametrize(("count", "rank"), [(10, 1), (20, 5), (100, 39)])
def test_that_the_ranks_are_those_of_the_binomial_table(count, rank):
    assert _lower_rank(count, 0.025) == rank


def test_that_the_large_sample_ranks_join_the_exact_ones():
    assert abs(_lower_rank(1000, 0.025) - _lower_rank(1001, 0.025)) <= 1


def test_that_the_interval_covers_the_true_median_as_often_as_it_says():
    rng = np.random.default_rng(1)
    hits = sum(
        interval.low <= math.log(2) <= interval.high
        for interval in (median_interval(rng.exponential(size=25)) for _ in range(2000))
    )
    assert 0.94 <= hits / 2000 <= 0.99


def test_that_missing_values_are_left_out_and_nothing_is_made_of_nothing():
    assert median_interval(np.array([math.nan, 3.0, math.inf])).value == 3.0
    assert math.isnan(median_interval(np.array([])).value)
    assert math.isnan(percentile(np.array([math.nan]), 95))


def test_that_a_paired_ratio_is_blind_to_drift_that_both_share():
    base = np.geomspace(1, 100, 20)
    ratio = paired_ratio(base, base * 0.8)
    assert ratio.value == pytest.approx(0.8)
    assert ratio.low == pytest.approx(0.8)
    assert ratio.high == pytest.approx(0.8)
