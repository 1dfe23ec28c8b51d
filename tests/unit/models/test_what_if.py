"""What other allocator settings would have needed: handed files, files made by the model, CPU recordings."""

import json

import numpy as np
import pytest

from tensorscope.compute.allocator_settings import MIB, AllocatorSettings, uniform_divisions
from tensorscope.compute.cancelling import CancelledError
from tensorscope.models.allocator_requests import devices_of
from tensorscope.models.session_loading import load_session
from tensorscope.models.session_model import SessionModel
from tensorscope.models.what_if import offered_settings, what_if_table
from tensorscope.models.what_if_curves import curves_of
from tensorscope.models.what_if_report import what_if_dict
from tensorscope.readers.documents import read_document
from tensorscope.readers.frames import frames_of
from tests.support.alloc_stream import AllocStream
from tests.support.model_snapshot import ModelProgram
from tests.support.random_snapshots import ToyAllocator
from tests.support.sessions import fed, sample_session
from tests.support.shared_data import shared_file

SETTINGS = {
    "plain": AllocatorSettings(),
    "expandable": AllocatorSettings(expandable_segments=True),
    "max-split": AllocatorSettings(max_split_bytes=24 * MIB),
    "divisions": AllocatorSettings(roundup_power2_divisions=uniform_divisions(4)),
}


def store_of(document):
    session = fed(SessionModel(), list(frames_of(read_document(document), "a.pickle")))
    assert session.problems == []
    return session.store


@pytest.mark.parametrize(
    ("name", "peak", "end", "allocations"),
    [
        ("gpt_medium_ctx512_train_2026.pickle", 12_660_506_624, 12_660_506_624, 7591),
        ("gpt_step_annotated_2026-03.pickle", 4_238_344_192, 4_238_344_192, 2162),
    ],
)
def test_that_the_handed_files_are_reproduced_to_the_byte_and_to_the_address(name, peak, end, allocations):
    store = load_session(shared_file(f"data/snapshots/{name}")).store
    found = what_if_table(store)
    assert found.exactness.kind == "exact"
    assert found.exactness.reserved_difference_bytes == 0
    assert found.exactness.same_addresses == found.exactness.allocations == allocations
    assert (found.recorded.peak_reserved_bytes, found.recorded.end_reserved_bytes) == (peak, end)
    again = what_if_table(store, start="recorded")
    assert again.reference_row.replay.peak_reserved_bytes == peak
    assert again.reference_row.replay.end_reserved_bytes == end


def test_that_a_file_without_a_history_gives_no_rows_and_says_why():
    store = load_session(shared_file("data/snapshots/legacy2023_oom_history_blocks.pickle")).store
    found = what_if_table(store)
    assert (found.rows, [note.code for note in found.notes]) == ((), ["no-history"])


@pytest.mark.parametrize("kept", [0.0, 0.4, 0.9])
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("seed", range(6))
def test_that_a_file_is_put_together_again_from_any_event_on(seed, setting, kept):
    program = ModelProgram(seed, setting).run(400)
    store = store_of(program.snapshot(first=int(len(program.trace) * kept)))
    found = what_if_table(store)
    assert found.exactness.kind == "exact"
    assert found.exactness.same_addresses == found.exactness.allocations
    assert found.recorded.end_reserved_bytes == program.model.reserved_bytes


@pytest.mark.parametrize("setting", [SETTINGS["plain"], SETTINGS["expandable"]], ids=["plain", "expandable"])
@pytest.mark.parametrize("seed", range(6))
def test_that_a_recorded_device_that_was_full_is_repeated(seed, setting):
    program = ModelProgram(seed, setting, limit_bytes=160 * MIB).run(500)
    assert program.model.retries > 0
    store = store_of(program.snapshot())
    found = what_if_table(store)
    assert found.exactness.kind == "exact"
    if program.ooms:
        assert found.recorded_limit_bytes <= 160 * MIB
        row = what_if_table(store, limit_bytes=160 * MIB).reference_row
        assert row.fits is False


def test_that_the_model_is_off_where_the_file_was_made_under_other_rules():
    document = ModelProgram(4, AllocatorSettings(max_split_bytes=24 * MIB)).run(400).snapshot()
    document["allocator_settings"]["max_split_size"] = -1
    found = what_if_table(store_of(document))
    assert found.exactness.kind == "off"
    assert found.exactness.reserved_difference_bytes != 0


def test_that_a_cpu_recording_is_simulated_and_says_so():
    found = what_if_table(sample_session(12).store)
    assert (found.source, found.exactness.kind, found.recorded) == ("cpu", "simulated", None)
    assert found.notes[0].code == "source-cpu"
    assert found.reference_row.settings == AllocatorSettings()
    assert any(row.settings.empty_cache_each_step for row in found.rows)
    for row in found.rows:
        assert row.replay.peak_reserved_bytes >= row.replay.peak_active_bytes >= found.peak_requested_bytes


@pytest.mark.parametrize("seed", range(8))
def test_that_the_requested_peak_is_that_of_what_was_alive(seed):
    stream = AllocStream(seed)
    stream.resync()
    most = stream_live = sum(block.size for block in stream.live)
    for _ in range(150):
        stream.events(1)
        stream_live = sum(block.size for block in stream.live)
        most = max(most, stream_live)
    device = int(stream.store.tables["alloc"]["device"][0])
    assert what_if_table(stream.store, device=device).peak_requested_bytes == most


def test_that_rows_are_sorted_by_peak_and_compared_with_the_recorded_setting():
    found = what_if_table(store_of(ModelProgram(1, AllocatorSettings()).run(300).snapshot()))
    peaks = [row.replay.peak_reserved_bytes for row in found.rows]
    assert peaks == sorted(peaks)
    reference = found.reference_row.replay.peak_reserved_bytes
    assert [row.difference_bytes for row in found.rows] == [peak - reference for peak in peaks]
    assert sum(row.is_reference for row in found.rows) == 1


def test_that_a_limit_says_what_fits_and_what_the_first_request_is_that_does_not():
    store = store_of(ModelProgram(2, AllocatorSettings()).run(300).snapshot())
    free = what_if_table(store)
    least = free.rows[0].replay.peak_active_bytes
    enough = what_if_table(store, limit_bytes=2 * free.rows[-1].replay.peak_reserved_bytes)
    assert all(row.fits for row in enough.rows)
    found = what_if_table(store, limit_bytes=least // 2)
    for row in found.rows:
        assert row.fits is False
        assert row.limited.peak_reserved_bytes <= least // 2
        assert row.failure.size_bytes == found.requests.size_bytes[row.failure.request]
        assert row.failure.free_bytes < row.failure.size_bytes + least // 2


def test_that_the_smallest_limit_that_fits_really_is_enough():
    store = store_of(ModelProgram(5, AllocatorSettings()).run(300).snapshot())
    peak = what_if_table(store).reference_row.replay.peak_reserved_bytes
    assert what_if_table(store, limit_bytes=peak).reference_row.retries == 0
    assert what_if_table(store, limit_bytes=peak - 1).reference_row.retries > 0


def test_that_work_stops_when_nobody_waits_and_progress_grows_to_one():
    store = store_of(ModelProgram(3, AllocatorSettings()).run(200).snapshot())
    with pytest.raises(CancelledError):
        what_if_table(store, cancelled=lambda: True)
    shares = []
    what_if_table(store, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_that_no_setting_is_offered_twice_and_garbage_only_within_a_limit():
    for recorded in (AllocatorSettings(), AllocatorSettings(expandable_segments=True)):
        offered = offered_settings(recorded, True, True)
        assert offered[0] == recorded
        assert len(set(offered)) == len(offered)
    assert not any(
        one.garbage_collection_threshold for one in offered_settings(AllocatorSettings(), True, False)
    )


def test_that_impossible_sizes_are_left_out():
    program = ModelProgram(6, AllocatorSettings()).run(60)
    document = program.snapshot()
    document["device_traces"][0].append(
        {"action": "alloc", "addr": 0x10, "size": 1 << 60, "stream": 0, "time_us": 1_800_000_000_000_000}
    )
    found = what_if_table(store_of(document))
    assert "left-out" in [note.code for note in found.notes]
    assert np.isfinite(found.rows[0].unused_share)


@pytest.mark.parametrize("start", ["empty", "recorded"])
@pytest.mark.parametrize("seed", range(8))
def test_that_files_made_by_other_rules_are_judged_and_never_break_the_model(seed, start):
    toy = ToyAllocator(seed, devices=2, streams=3, pools=2).run(300)
    store = store_of(toy.snapshot(first=(seed % 3) * 80))
    for device in (0, 1):
        found = what_if_table(store, 8 * MIB, device=device, start=start)
        assert found.exactness.kind in ("exact", "off")
        assert found.devices == tuple(devices_of(store))
        for row in found.rows:
            assert row.limited.peak_reserved_bytes <= max(8 * MIB, row.limited.start_reserved_bytes)
        assert json.loads(json.dumps(what_if_dict(found)))["settings"][0]["fits"] in (True, False)


def test_that_the_curves_are_those_of_the_replays():
    program = ModelProgram(8, AllocatorSettings()).run(300)
    found = what_if_table(store_of(program.snapshot(first=100)))
    curves = curves_of(found)
    requests = found.requests
    for row, curve in zip(found.rows, curves.reserved, strict=True):
        after = row.replay.reserved_after(len(requests))[requests.listed - 1 :]
        assert curve.size_bytes.max() == after.max()
        assert curve.size_bytes[-1] == after[-1]
        assert (np.diff(curve.t_s) >= 0).all()
    assert curves.recorded.size_bytes.max() == found.recorded.peak_reserved_bytes
    assert curves.held.size_bytes.max() == found.peak_requested_bytes


def test_that_a_curve_ends_at_the_request_that_failed():
    store = store_of(ModelProgram(2, AllocatorSettings()).run(300).snapshot())
    found = what_if_table(store, limit_bytes=50 * MIB)
    for row, curve in zip(found.rows, curves_of(found).reserved, strict=True):
        assert curve.t_s[-1] == row.failure.t_ns / 1e9
        assert curve.size_bytes.max() <= 50 * MIB
