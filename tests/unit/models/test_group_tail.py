"""A grouping that is continued event by event is the grouping made of everything."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorscope.models.allocations import find_allocations
from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.grouping import GROUPS, group_blocks
from tensorscope.models.memory_axis import EVENT, EVENT_UNITS, TIME
from tensorscope.models.memory_model import MemoryModel
from tensorscope.models.memory_snapshot import MemoryIntent
from tests.support.alloc_stream import AllocStream, TrueBlock
from tests.support.cut_store import CutStore
from tests.support.sessions import fed, sample_session

OTHER_GROUPS = [group for group in GROUPS if group != "category"]


def snapshot_store():
    from tensorscope.models.session_model import SessionModel
    from tensorscope.readers.documents import read_document
    from tensorscope.readers.frames import frames_of
    from tests.support.random_snapshots import ToyAllocator

    toy = ToyAllocator(4, devices=2, streams=3, pools=2).run(400)
    return fed(SessionModel(), list(frames_of(read_document(toy.snapshot()), "a"))).store


@pytest.fixture(scope="module")
def stores():
    return {"snapshot": snapshot_store(), "sample": sample_session().store}


def grouped_of(store, group, device=None):
    return group_blocks(FrozenStore(store), find_allocations(store), group, device)


def levels(grouped, points):
    """Return the bytes of each label that owns anything."""
    held = grouped.live.series_bytes(points)
    return {label: held[:, i].tolist() for i, label in enumerate(grouped.labels) if held[:, i].any()}


@pytest.mark.parametrize("group", OTHER_GROUPS)
@pytest.mark.parametrize("name", ["snapshot", "sample"])
@given(share=st.floats(0, 1), chunk=st.integers(1, 50))
@settings(max_examples=8, deadline=None)
def test_that_what_is_continued_is_what_is_made_at_once(stores, group, name, share, chunk):
    store = stores[name]
    total = len(store.tables["alloc"])
    cut = CutStore(store, round(share * total))
    grouped = group_blocks(cut, find_allocations(cut), group)
    tail = grouped.tail
    while tail.rows < total and not tail.stopped:
        tail.extend(store, min(total, tail.rows + chunk))
    whole = grouped_of(store, group)
    assert not whole.others
    points = np.arange(len(grouped.live))
    assert levels(grouped, points) == levels(whole, points)
    if tail.stopped:  # only a label that has no series yet stops it
        assert not len(cut.tables["alloc"]) or set(whole.labels) - set(grouped.labels)
    else:
        assert len(points) == len(whole.live)


def test_that_a_baseline_stops_it():
    stream = AllocStream(3)
    stream.resync()
    stream.events(50)
    grouped = grouped_of(stream.store, "device")
    stream.events(20)
    stream.resync()
    stream.events(20)
    grouped.tail.extend(stream.store, 90)
    assert grouped.tail.stopped
    assert grouped.rows == 70


def test_that_the_free_of_a_block_never_seen_stops_it():
    stream = AllocStream(3)
    stream.events(50)
    grouped = grouped_of(stream.store, "device")
    unseen = TrueBlock(1 << 40, 7_777_777, 0, None)
    stream.live.append(unseen)
    while unseen in stream.live:
        stream.events(1)
    grouped.tail.extend(stream.store, len(stream.store.tables["alloc"]))
    assert grouped.tail.stopped
    assert stream.store.tables["alloc"]["delta_bytes"][grouped.rows] == -unseen.size


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("axis", [TIME, EVENT])
@given(first=st.floats(0, 0.999), width=st.floats(1e-6, 1.5), columns=st.integers(1, 700))
@settings(max_examples=12, deadline=None)
def test_that_what_is_drawn_is_what_brute_force_finds(stores, group, axis, first, width, columns):
    store = stores["snapshot"]
    model = MemoryModel(store)
    while model.update():
        pass
    if group != "category":
        model.grouped = grouped_of(store, group)
    live, (low_x, high_x) = model.shown, model.axis(axis).span()
    begin = low_x + int(first * (high_x - low_x))
    window = begin, begin + max(1, int(width * (high_x - low_x)))
    snapshot = model.resolve(MemoryIntent(window=window, columns=columns, axis=axis))
    assert (snapshot.series_bytes.sum(axis=1) == snapshot.high_bytes).all()
    every = live.series_bytes(np.arange(len(live)))
    for x0, x1, series, high, low in zip(
        snapshot.x0.tolist(), snapshot.x1.tolist(), snapshot.series_bytes.tolist(),
        snapshot.high_bytes.tolist(), snapshot.low_bytes.tolist(), strict=True,
    ):  # fmt: skip
        points = points_within(live, axis, x0, x1)
        totals = every[points].sum(axis=1)
        assert (totals.max(), totals.min()) == (high, low)
        assert series in every[points[totals == high]].tolist()


def points_within(live, axis, x0, x1):
    """Return the points that a span shows, by looking at every one: what it begins with, and what happens."""
    if axis == EVENT:
        return np.array([i for i in range(len(live)) if i * EVENT_UNITS < x1 and (i + 1) * EVENT_UNITS > x0])
    times = live.times_ns.tolist()
    before = [i for i, t in enumerate(times) if t < x0][-1:]
    return np.array(before + [i for i, t in enumerate(times) if x0 <= t < x1])
