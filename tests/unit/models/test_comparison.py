"""Comparing: nothing between equal sides, exactly what was put in between others, and noise called noise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorscope.compute.session_diff import difference, growth_per_step, phase_edges
from tensorscope.models.comparison import Side, compare, variants_of
from tensorscope.models.session_model import SessionModel
from tests.support.sample_frames import sample_frames
from tests.support.sessions import fed, sample_session


def test_that_equal_sessions_differ_in_nothing():
    found = compare(Side(sample_session().store, "a"), Side(sample_session().store, "b"))
    for one in (*found.totals, *found.categories, *found.modules):
        assert not one.delta > 0
        assert not one.is_real
    assert (found.curve_a.median_bytes == found.curve_b.median_bytes).all()
    assert found.steps_a == found.steps_b > 30


def test_that_a_leak_is_found_as_growth_and_in_its_category():
    plain, leaking = (fed(SessionModel(), sample_frames(leak_bytes=size)).store for size in (0, 5000))
    found = compare(Side(plain, "a"), Side(leaking, "b"))
    assert found.total("growth_bytes_per_step").a == 0
    assert found.total("growth_bytes_per_step").b == 5000
    assert found.total("peak_bytes").delta > 0
    assert sum(one.delta for one in found.categories) == pytest.approx(
        found.total("peak_bytes").delta, abs=5001
    )


def test_that_the_peak_of_a_side_is_the_median_of_its_steps_peaks():
    store = sample_session().store
    found = compare(Side(store, "a", steps=(10, 20)), Side(store, "b"))
    steps = store.tables["step"]
    mine = (steps["step"] >= 10) & (steps["step"] <= 20)
    assert found.total("peak_bytes").a == float(np.median(steps["peak_bytes"][mine]))
    assert (found.steps_a, found.left_out_a) == (10, 1)  # one of them is a deep step


def test_that_a_curve_reaches_the_steps_peak():
    store = sample_session().store
    found = compare(Side(store, "a"), Side(store, "a"))
    assert found.curve_a.high_bytes.max() == float(store.tables["step"]["peak_bytes"][2:].max())
    assert (found.curve_a.low_bytes <= found.curve_a.median_bytes).all()


def test_that_an_empty_session_is_compared_without_numbers():
    found = compare(Side(SessionModel().store, "a"), Side(sample_session().store, "b"))
    assert math.isnan(found.total("peak_bytes").a)
    assert found.curve_a is None
    assert found.as_json()["totals"][1]["a"] is None
    assert variants_of(SessionModel().store) == []


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(-1e5, 1e5))
def test_that_a_shift_is_found_exactly_and_noise_does_not_depend_on_it(values, shift):
    a = np.array(values)
    found = difference("x", a, a + shift)
    assert found.delta == pytest.approx(shift, abs=1e-6 * (1 + abs(shift) + np.abs(a).max()))
    assert found.noise == pytest.approx(difference("x", a, a).noise, abs=1e-6 * (1 + np.abs(a).max()))


def test_that_a_difference_within_the_spread_is_not_real():
    rng = np.random.default_rng(0)
    a, b = rng.normal(100, 10, 40), rng.normal(101, 10, 40)
    assert not difference("x", a, b).is_real
    assert difference("x", a, b + 20).is_real


def test_that_growth_is_not_fooled_by_one_jump():
    assert growth_per_step(np.array([0, 0, 1000, 1000, 1000.0])) == 0
    assert growth_per_step(np.array([0, 10, 20, 30.0])) == 10
    assert math.isnan(growth_per_step(np.array([5.0])))


def test_that_the_edges_of_a_step_are_its_phases():
    edges = phase_edges((0, 100, 100, 400), 4)
    assert edges.tolist() == [0, 25, 50, 75, 100, 100, 100, 100, 100, 175, 250, 325, 400]
