"""Series by module, phase, stack, ... against sums made block by block; searching blocks."""

import numpy as np
import pytest

from tensorscope.models.allocation_search import search_blocks
from tensorscope.models.allocations import find_allocations
from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.grouping import GROUPS, MAX_SERIES, group_blocks
from tensorscope.models.memory_axis import EVENT, EVENT_UNITS
from tensorscope.models.memory_model import MemoryModel
from tensorscope.models.memory_snapshot import MemoryIntent
from tensorscope.models.session_model import SessionModel
from tensorscope.readers.documents import read_document
from tensorscope.readers.frames import frames_of
from tests.support.alloc_stream import AllocStream
from tests.support.random_snapshots import ToyAllocator
from tests.support.sessions import fed, sample_session

OTHER_GROUPS = [group for group in GROUPS if group != "category"]


def store_of(toy):
    return fed(SessionModel(), list(frames_of(read_document(toy.snapshot()), "a"))).store


STORES = {
    "snapshot": lambda: store_of(ToyAllocator(4, devices=2, streams=3, pools=2).run(400)),
    "sample": lambda: sample_session().store,
}


@pytest.mark.parametrize("group", OTHER_GROUPS)
@pytest.mark.parametrize("name", STORES)
def test_that_the_series_add_up_to_the_total_at_every_point(group, name):
    store = STORES[name]()
    blocks = find_allocations(store)
    grouped = group_blocks(FrozenStore(store), blocks, group)
    model = MemoryModel(store)
    while model.update():
        pass
    points = np.arange(len(grouped.live))
    assert grouped.live.total_bytes.tolist() == model.live.total_bytes.tolist()
    assert grouped.live.series_bytes(points).sum(axis=1).tolist() == model.live.total_bytes.tolist()
    assert len(grouped.labels) == grouped.live.series <= MAX_SERIES


@pytest.mark.parametrize("seed", range(8))
def test_that_a_series_holds_the_blocks_of_its_label_after_resyncs(seed):
    stream = AllocStream(seed)
    stream.resync()
    for count in (60, 60, 60):
        stream.events(count)
        stream.resync()
    store, blocks = stream.store, find_allocations(stream.store)
    grouped = group_blocks(FrozenStore(store), blocks, "phase")
    before_a_baseline = np.append(grouped.live.rows[1:] < 0, False)
    for point in np.flatnonzero(~before_a_baseline)[::7].tolist():
        rows = grouped.live.rows_until(point)
        alive = blocks.alive_before(rows)
        held = np.bincount(
            grouped.series[alive], weights=blocks.size_bytes[alive], minlength=grouped.live.series
        )
        assert held.astype(int).tolist() == grouped.live.series_bytes(np.array([point]))[0].tolist()


def test_that_what_has_no_series_of_its_own_is_in_the_last():
    toy = ToyAllocator(1)
    toy.run(20)
    store = store_of(toy)
    blocks = find_allocations(store)
    names = [f"m{index}" for index in range(100)]
    first = len(store.strings)
    store.strings += names
    blocks.module[:] = first + np.arange(len(blocks)) % 100
    grouped = group_blocks(FrozenStore(store), blocks, "module")
    assert len(grouped.labels) <= MAX_SERIES
    if len(blocks) > MAX_SERIES:
        assert grouped.others == min(100, len(blocks)) - (MAX_SERIES - 1)


def test_that_modules_can_be_cut_to_their_first_parts():
    store = sample_session().store
    grouped = group_blocks(FrozenStore(store), find_allocations(store), "module", depth=1)
    assert {"blocks", "embed", "head"} <= set(grouped.labels)
    assert all("." not in label for label in grouped.labels)


def test_that_one_device_is_grouped_alone():
    store = store_of(ToyAllocator(2, devices=2).run(300))
    blocks = find_allocations(store)
    whole, one = (group_blocks(FrozenStore(store), blocks, "stack", device) for device in (None, 1))
    final = blocks.alive_before(len(store.tables["alloc"]))
    mine = final[blocks.device[final] == 1]
    assert int(one.live.now_bytes.sum()) == int(blocks.size_bytes[mine].sum())
    assert int(whole.live.now_bytes.sum()) == int(blocks.size_bytes[final].sum())


@pytest.mark.parametrize("columns", [1, 7, 50, 400])
def test_that_on_the_event_axis_a_column_keeps_the_extremes_of_its_events(columns):
    store = store_of(ToyAllocator(3).run(200))
    model = MemoryModel(store)
    while model.update():
        pass
    count = len(model.live)
    snapshot = model.resolve(MemoryIntent(window=(0, count * EVENT_UNITS), columns=columns, axis=EVENT))
    total = model.live.total_bytes
    for x0, x1, high, low in zip(
        snapshot.x0, snapshot.x1, snapshot.high_bytes, snapshot.low_bytes, strict=True
    ):
        points = total[int(x0) // EVENT_UNITS : -(-int(x1) // EVENT_UNITS)]
        assert (int(points.max()), int(points.min())) == (high, low)
    assert snapshot.x0[0] == 0
    assert snapshot.x1[-1] == count * EVENT_UNITS
    assert int(snapshot.peak_bytes.sum()) == int(total.max())


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("> 1 MiB", lambda size, address: size > 1 << 20),
        ("<= 512", lambda size, address: size <= 512),
        ("= 300000", lambda size, address: size == 300_000),
        (">= 0.5k", lambda size, address: size >= 512),
    ],
)
def test_that_sizes_are_found(text, matches):
    store = store_of(ToyAllocator(6).run(300))
    blocks = find_allocations(store)
    found = search_blocks(store, blocks, text)
    wanted = [i for i in range(len(blocks)) if matches(int(blocks.size_bytes[i]), int(blocks.address[i]))]
    assert found.blocks.tolist() == wanted
    assert found.total_bytes == int(blocks.size_bytes[wanted].sum())


def test_that_addresses_within_a_block_and_frames_and_modules_are_found():
    store = store_of(ToyAllocator(6).run(300))
    blocks = find_allocations(store)
    inside = int(blocks.address[3]) + int(blocks.size_bytes[3]) - 1
    assert 3 in search_blocks(store, blocks, hex(inside)).blocks.tolist()
    by_frame = search_blocks(store, blocks, "attention.py:17").blocks
    assert 0 < len(by_frame) < len(blocks)
    sample = sample_session().store
    named = find_allocations(sample)
    modules = {sample.string(int(named.module[i])) for i in search_blocks(sample, named, "blocks.1.").blocks}
    assert any(module.startswith("blocks.1") for module in modules)
    assert len(search_blocks(sample, named, "no such thing").blocks) == 0
    assert len(search_blocks(sample, named, "> 1.2.3 MiB").blocks) == 0
