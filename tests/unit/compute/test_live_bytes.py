from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorscope.compute.live_bytes import LiveBytes
from tensorscope.core.schema import CATEGORIES

N = len(CATEGORIES)
EVENT = st.tuples(st.integers(0, 5), st.integers(-100, 100), st.integers(0, N - 1))


def built(chunks):
    """Return the live bytes and, beside it, the same by brute force: (time, values of categories)."""
    live, expected, now, t, row = LiveBytes(N), [], [0] * N, 0, 0
    for baseline, events in chunks:
        if baseline is not None:
            t += 7
            now = list(baseline)
            live.start(t, np.array(now), row)
            expected.append((t, list(now)))
        times, deltas, categories = [], [], []
        for dt, delta, category in events:
            t += dt
            now[category] += delta
            times.append(t)
            deltas.append(delta)
            categories.append(category)
            expected.append((t, list(now)))
        rows = np.arange(row, row + len(events))
        live.append(
            np.array(times, np.int64), np.array(deltas, np.int64), np.array(categories, np.uint8), rows
        )
        row += len(events)
    return live, expected


BASE = st.none() | st.lists(st.integers(0, 500), min_size=N, max_size=N)
CHUNKS = st.lists(
    st.tuples(
        st.none() | st.lists(st.integers(0, 500), min_size=N, max_size=N), st.lists(EVENT, max_size=20)
    ),
    max_size=6,
)


@settings(max_examples=150, deadline=None)
@given(CHUNKS)
def test_that_categories_sum_to_the_total_at_every_event(chunks):
    live, expected = built(chunks)
    values = live.series_bytes(np.arange(len(live)))
    assert values.tolist() == [now for _, now in expected]
    assert live.total_bytes.tolist() == [sum(now) for _, now in expected]
    assert live.times_ns.tolist() == [t for t, _ in expected]


@settings(max_examples=150, deadline=None)
@given(CHUNKS, st.integers(0, 40), st.integers(1, 200), st.integers(1, 30))
def test_that_a_column_keeps_the_highest_and_lowest_total_within_it(chunks, start, width, count):
    live, expected = built(chunks)
    edges = np.linspace(start, start + width, count + 1).astype(np.int64)
    known_until = expected[-1][0] + 3 if expected else 0
    columns = live.columns(edges, known_until)
    for i, (a, b) in enumerate(pairwise(edges)):
        carried = [sum(now) for t, now in expected if t < a][-1:]
        inside = carried + [sum(now) for t, now in expected if a <= t < b]
        in_a_gap = any(a > g0 and b <= g1 for g0, g1 in live.gaps_ns)
        if in_a_gap or not inside or a >= known_until:
            assert columns.high_point[i] == -1
        else:
            assert live.total_bytes[columns.high_point[i]] == max(inside)
            assert live.total_bytes[columns.low_point[i]] == min(inside)


def test_that_a_second_baseline_leaves_a_gap_and_counts_from_its_own_values():
    live, _ = built([([10] * N, [(1, 5, 0)]), ([100] * N, [(1, -50, 1)])])
    assert live.gaps_ns == [(8, 15)]
    assert live.now_bytes.tolist() == [100, 50, *[100] * (N - 2)]
    assert live.rows.tolist() == [-1, 0, -2, 1]
    assert [live.rows_until(point) for point in range(4)] == [0, 1, 1, 2]


def test_that_a_category_nobody_knows_is_counted_as_unknown():
    live = LiveBytes(N)
    live.append(np.array([1]), np.array([64]), np.array([200], np.uint8), np.array([0]))
    assert live.now_bytes[N - 1] == 64


def test_that_late_events_do_not_turn_time_back():
    live = LiveBytes(N)
    live.append(np.array([10, 5]), np.array([1, 1]), np.array([0, 0], np.uint8), np.array([0, 1]))
    live.append(np.array([7]), np.array([1]), np.array([0], np.uint8), np.array([2]))
    assert live.times_ns.tolist() == [10, 10, 10]
