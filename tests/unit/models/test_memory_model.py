import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorscope.models.memory_model import MemoryModel
from tensorscope.models.memory_snapshot import MemoryIntent
from tests.support.alloc_stream import AllocStream, append_rows, large_store
from tests.support.sessions import sample_session


def indexed(store, **kwargs):
    model = MemoryModel(store, **kwargs)
    while model.update(max_rows=7):
        pass
    return model


STREAMS = st.tuples(st.integers(0, 10_000), st.lists(st.integers(0, 30), min_size=1, max_size=3))


def stream_of(seed, lengths):
    stream = AllocStream(seed)
    for length in lengths:
        stream.resync()
        stream.events(length)
    return stream


@settings(max_examples=60, deadline=None)
@given(STREAMS)
def test_that_every_point_is_what_was_alive_however_it_was_taken_in(spec):
    stream = stream_of(*spec)
    live = indexed(stream.store).live
    assert live.times_ns.tolist() == [t for t, _ in stream.totals]
    assert live.series_bytes(np.arange(len(live))).tolist() == [now for _, now in stream.totals]
    assert indexed(stream.store).mismatch_bytes == 0


@settings(max_examples=60, deadline=None)
@given(STREAMS, st.integers(0, 120), st.integers(1, 300), st.integers(1, 60))
def test_that_a_drawn_column_keeps_the_extremes_and_its_parts_sum_to_the_highest(spec, first, width, columns):
    stream = stream_of(*spec)
    model = indexed(stream.store)
    snapshot = model.resolve(MemoryIntent(window=(first, first + width), columns=columns))
    parts = snapshot.series_bytes.sum(axis=1)
    assert parts.tolist() == snapshot.high_bytes.tolist()
    first, last = snapshot.window
    count = min(columns, last - first)
    edges = [first + i * (last - first) // count for i in range(count + 1)]
    for t0, t1, high, low in zip(
        snapshot.x0, snapshot.x1, snapshot.high_bytes, snapshot.low_bytes, strict=True
    ):
        assert t0 in edges
        assert t1 in edges
        carried = [sum(now) for t, now in stream.totals if t < t0][-1:]
        inside = carried + [sum(now) for t, now in stream.totals if t0 <= t < t1]
        assert (high, low) == (max(inside), min(inside))


def test_that_hidden_categories_are_zero_and_the_total_is_not_touched():
    store = sample_session().store
    parameters = store.records("baseline")[0].columns["size_bytes"].sum()
    model = indexed(store)
    shown = model.resolve(MemoryIntent(steps=2, hidden=frozenset({0})))
    assert not shown.series_bytes[:, 0].any()
    assert (shown.high_bytes - shown.series_bytes.sum(axis=1) == parameters).all()


def test_that_the_last_steps_end_at_the_step_that_is_shown():
    model = indexed(sample_session().store)
    assert model.resolve(MemoryIntent(steps=3, end_step=9)).window == (700_000_000, 1_000_000_000)
    assert model.resolve(MemoryIntent(steps=3)).window == (3_700_000_000, 4_000_000_000)
    assert model.resolve(MemoryIntent(steps=0)).window[0] == 0


def test_that_bands_carry_phase_and_step_and_too_many_are_left_out():
    model = indexed(sample_session(steps=600).store)
    few = model.resolve(MemoryIntent(steps=2))
    assert few.steps.kind.tolist() == [598, 599]
    assert few.phases.kind.tolist() == [0, 1, 2, 3] * 2
    many = model.resolve(MemoryIntent(steps=0, end_step=321))
    assert len(many.phases.kind) == 0
    assert many.steps.kind.tolist() == [321]


def test_that_nothing_is_drawn_after_the_last_known_time_or_in_a_gap():
    stream = AllocStream(3)
    stream.resync()
    stream.events(20)
    end = stream.t
    stream.resync()
    model = indexed(stream.store)
    snapshot = model.resolve(MemoryIntent(window=(0, 10 * stream.t), columns=10 * stream.t))
    assert snapshot.x1.max() <= stream.t + 1
    inside = (snapshot.x0 > end) & (snapshot.x1 < stream.t)
    assert not inside.any()
    assert snapshot.gaps.x0.tolist() == [end]
    assert model.moment(end + 1) is None
    assert model.moment(10 * stream.t) is None


def test_that_the_nearest_event_of_a_category_is_the_largest_within_reach():
    store = sample_session().store
    model = indexed(store)
    table = store.tables["alloc"]
    t_ns = table["t_ns"] - store.origin_ns
    for category in (1, 5, 6, -1):
        for at, reach in ((50_000_000, 4_000_000), (1_234_567_890, 0), (3_999_000_000, 10**9)):
            row = model.event_near(at, reach, category)
            mine = np.flatnonzero((table["category"] == category) | (category == -1))
            near = mine[np.abs(t_ns[mine] - at) <= reach]
            if len(near):
                assert abs(table["delta_bytes"][row]) == np.abs(table["delta_bytes"][near]).max()
                assert row in near
            else:
                assert abs(t_ns[row] - at) == np.abs(t_ns[mine] - at).min()


def test_that_peaks_are_visited_step_by_step():
    store = sample_session().store
    model = indexed(store)
    t_ns = 250_000_000
    for step in (3, 4, 5):
        t_ns = model.next_peak(t_ns, +1)
        assert model.moment(t_ns).step == step
        assert model.moment(t_ns).total_bytes == store.tables["step"]["peak_bytes"][step]
    assert model.moment(model.next_peak(t_ns, -1)).step == 4


def test_that_one_device_can_be_seen_alone():
    store = sample_session(steps=2).store
    assert len(indexed(store, device=0).live) == 1  # the baseline, without a block on that device
    assert indexed(store, device=0).live.now_bytes.sum() == 0
    assert indexed(store, device=-1).live.now_bytes.sum() == indexed(store).live.now_bytes.sum() > 0


def test_that_a_refresh_of_two_million_events_reads_pixels_and_not_events():
    store = large_store(2_000_000)
    table = store.tables["alloc"]
    model = MemoryModel(store)
    while model.update(max_rows=500_000):
        pass
    assert model.mismatch_bytes == 0
    for window in ((0, 3 * 10**9), (10**9, 10**9 + 5_000_000), (1_400_000_000, 1_900_000_000)):
        before = model.live.points_touched
        snapshot = model.resolve(MemoryIntent(window=window, columns=1200))
        assert model.live.points_touched - before < 1200 * 2 * 2 * 3 * 11
        assert 0 < len(snapshot.x0) <= 1200
    before = model.live.points_touched
    append_rows(store, {name: table[name][:1000].copy() for name in table.names})
    model.update()
    assert model.live.points_touched - before < 10_000
