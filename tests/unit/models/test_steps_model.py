import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tensorscope.core.wire import Column
from tensorscope.models.session_store import SessionStore
from tensorscope.models.steps_model import StepsIntent, StepsModel
from tests.support.sessions import sample_session

MS = 1_000_000


def store_of(ms, loss=None, peak=None, variant=None, level=None):
    """Return a store with one step an entry of `ms`, half of it forward."""
    store, n = SessionStore(), len(ms)
    store.strings += ["bf16"]
    ns = (np.asarray(ms, float) * MS).astype(np.int64)
    t1 = np.cumsum(ns)
    table = store.tables["step"]
    data = {name: np.zeros(n, table[name].dtype) for name in table.names}
    data |= {"step": np.arange(n, dtype=np.int32), "t0_ns": t1 - ns, "t1_ns": t1, "forward_ns": ns // 2}
    data["loss"] = np.full(n, np.nan) if loss is None else np.asarray(loss, float)
    data["peak_bytes"] = np.full(n, -1) if peak is None else np.asarray(peak, np.int64)
    data["agent_ns"] = ns // 100
    data["level"][:] = 1 if level is None else level
    data["variant"][:] = 0 if variant is None else variant
    table.append({n_: Column(v.dtype.str[1:], v.shape, v.tobytes()) for n_, v in data.items()})
    return store


def model_of(store, slice_rows=17):
    model = StepsModel(store)
    while model.update(slice_rows):
        pass
    return model


@settings(max_examples=80, deadline=None)
@example([1] * 8 + [2], 0, 11, 9)  # as many columns as steps, but not one each
@given(
    st.lists(st.integers(1, 1000), min_size=1, max_size=300),
    st.integers(-5, 300),
    st.integers(1, 300),
    st.integers(1, 80),
)
def test_that_a_column_is_its_slowest_step_and_keeps_its_fastest(ms, first, width, columns):
    model = model_of(store_of(ms))
    snapshot = model.resolve(StepsIntent((first - 0.5, first + width - 0.5), columns=columns))
    inside = [(step, time) for step, time in enumerate(ms) if first - 0.5 <= step < first + width - 0.5]
    assert snapshot.count == len(inside)
    seen = 0
    bars = snapshot.bar_x0, snapshot.bar_x1, snapshot.bar_rows, snapshot.phase_ms, snapshot.fastest_ms
    for x0, x1, row, phases, fast in zip(*bars, strict=True):
        mine = [time for step, time in inside if x0 <= step <= x1]
        seen += len(mine)
        assert ms[row] == max(mine)
        assert phases.sum() == pytest.approx(max(mine))
        assert fast == min(mine)
    assert seen == len(inside)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.floats(-10, 10) | st.sampled_from([math.nan, math.inf, -math.inf]), min_size=1, max_size=200),
    st.integers(1, 60),
)
def test_that_the_loss_line_keeps_every_extreme_and_marks_what_is_not_finite(loss, columns):
    model = model_of(store_of([1] * len(loss), loss=loss))
    snapshot = model.resolve(StepsIntent(columns=columns))
    finite = [value for value in loss if math.isfinite(value)]
    assert np.isfinite(snapshot.loss_y).all()
    assert len(snapshot.loss_x) <= max(2 * columns, 1)
    assert (np.diff(snapshot.loss_x) > 0).all()
    for x, y in zip(snapshot.loss_x, snapshot.loss_y, strict=True):
        assert loss[int(x)] == y
    if finite:
        assert (snapshot.loss_y.min(), snapshot.loss_y.max()) == (min(finite), max(finite))
        assert set(snapshot.loss_missing_x) <= {i for i, v in enumerate(loss) if not math.isfinite(v)}
        assert (len(snapshot.loss_missing_x) > 0) == (len(finite) < len(loss))
    else:
        assert len(snapshot.loss_missing_x) == 0


def test_that_what_was_not_recorded_is_missing_and_not_zero():
    model = model_of(store_of([10] * 5))
    assert len(model.resolve(StepsIntent()).peak_x) == 0
    assert math.isnan(model.details(2).peak_bytes)
    assert math.isnan(model.details(2).loss)


def test_that_statistics_are_of_the_window_and_exact_while_it_is_small():
    model = model_of(store_of([1] * 50 + [3] * 50))
    assert model.resolve(StepsIntent((49.5, 99.5))).median_ms == 3
    whole = model.resolve(StepsIntent())
    assert (whole.median_ms, whole.p95_ms, whole.sampled) == (2, 3, False)
    assert whole.agent_share == pytest.approx(1 / 99, rel=1e-3)


def test_that_the_last_steps_are_the_last():
    model = model_of(store_of([1] * 50))
    snapshot = model.resolve(StepsIntent(steps=10))
    assert (snapshot.first, snapshot.last, snapshot.count) == (39.5, 49.5, 10)


def test_that_spans_cover_the_window_and_deep_steps_are_marked():
    variant = [0] * 5 + [1] * 5 + [0] * 5
    level = [1] * 7 + [2] + [1] * 7
    model = model_of(store_of([1] * 15, variant=variant, level=level), slice_rows=4)
    spans = model.resolve(StepsIntent((2.5, 12.5))).spans
    assert [(s.first, s.last, s.variant) for s in spans] == [(3, 4, ""), (5, 9, "bf16"), (10, 12, "")]
    assert model.resolve(StepsIntent()).deep_x.tolist() == [7]


def test_that_details_are_of_the_nearest_step():
    model = model_of(sample_session().store)
    assert model.details(-100).step == 0
    assert model.details(11.6).step == 12
    assert model.details(1e9).step == 39
    assert model_of(SessionStore()).details(0) is None
    assert sum(model.details(3).phase_ns) == model.details(3).duration_ns == 100 * MS


def test_that_a_million_steps_cost_pixels_and_not_steps():
    rng = np.random.default_rng(0)
    n = 1_000_000
    model = StepsModel(
        store_of(rng.integers(1, 100, n), loss=rng.normal(size=n), peak=rng.integers(1, 99, n))
    )
    while model.update():
        pass
    before = model.rows_touched
    snapshot = model.resolve(StepsIntent(columns=1200))
    assert model.rows_touched - before < 6 * 1200 * 2 * 2 * 3 * 10
    assert len(snapshot.bar_x0) <= 1200
    assert snapshot.sampled
