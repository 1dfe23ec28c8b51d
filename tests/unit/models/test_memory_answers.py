"""Peaks and survivors of sessions, against sums made block by block."""

import numpy as np
import pytest

from tensorscope.models.allocations import find_allocations
from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.peaks import TRANSIENT_NS, find_peaks
from tensorscope.models.session_model import SessionModel
from tensorscope.models.survivors import NOTHING, find_survivors
from tensorscope.readers.documents import read_document
from tensorscope.readers.frames import frames_of
from tests.support.random_snapshots import ToyAllocator
from tests.support.sample_frames import sample_frames
from tests.support.sessions import fed, sample_session


def snapshot_store(seed):
    document = ToyAllocator(seed, devices=2, streams=2).run(300).snapshot()
    return fed(SessionModel(), list(frames_of(read_document(document), "a"))).store


@pytest.mark.parametrize("seed", range(6))
def test_that_the_parts_of_a_peak_are_the_blocks_alive_there(seed):
    store = snapshot_store(seed)
    blocks, found = find_allocations(store), find_peaks(FrozenStore(store))
    start = int(store.records("baseline")[0].columns["size_bytes"].sum()) if store.records("baseline") else 0
    totals = np.append(start, start + np.cumsum(store.tables["alloc"]["delta_bytes"]))
    assert found.peaks[0].total_bytes == int(totals.max())
    for peak in found.peaks:
        assert sum(part.bytes for part in peak.parts) == peak.total_bytes == int(totals[peak.row])
        assert sum(part.count for part in peak.parts) == len(blocks.alive_before(peak.row))


@pytest.mark.parametrize("seed", range(6))
def test_that_what_is_momentary_is_what_lives_less_than_a_millisecond(seed):
    store = snapshot_store(seed)
    blocks, found = find_allocations(store), find_peaks(FrozenStore(store))
    lives = [
        int(blocks.end_ns[i]) - int(blocks.begin_ns[i]) if blocks.begin_row[i] >= 0 else TRANSIENT_NS
        for i in range(len(blocks))
    ]
    rows = range(len(store.tables["alloc"]) + 1)
    lasting = [i for i in range(len(blocks)) if lives[i] >= TRANSIENT_NS]
    highest = max(
        sum(int(blocks.size_bytes[i]) for i in lasting if blocks.from_row[i] <= row < blocks.until_row[i])
        for row in rows
    )
    assert found.without_transients_bytes == highest


def test_that_the_peak_of_one_device_is_its_own():
    store = snapshot_store(3)
    one = find_peaks(FrozenStore(store), device=1)
    rows = store.tables["alloc"]["device"] == 1
    assert one.peaks[0].total_bytes == int(store.tables["alloc"]["total_bytes"][rows].max())


def test_that_a_steady_program_leaks_nothing_and_a_growing_one_is_named():
    steady = find_survivors(FrozenStore(sample_session().store))
    assert steady.leaks == ()
    leaking = fed(SessionModel(), sample_frames(leak_bytes=5000)).store
    found = find_survivors(FrozenStore(leaking))
    assert len(found.leaks) == 1
    assert found.leaks[0].growth.bytes_per_step == 5000
    address, row = found.leaks[0].newest[0]
    assert int(leaking.tables["alloc"]["address"][row]) == address
    assert found.leaks[0].steps_until(50_000) in (9, 10, 11)


def test_that_a_file_without_steps_says_so():
    assert find_survivors(FrozenStore(snapshot_store(1))).aligned_by == NOTHING
