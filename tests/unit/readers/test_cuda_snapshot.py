"""Snapshots of every layout open as sessions whose sums are those of the program that wrote them."""

import json
import math
import pickle

import numpy as np
import pytest

from tensorscope.core.errors import ReaderError
from tensorscope.models.session_loading import load_session
from tensorscope.models.session_model import SessionModel
from tensorscope.readers.cuda_snapshot import read_cuda_snapshot
from tensorscope.readers.documents import load_document, read_document
from tensorscope.readers.frames import frames_of
from tests.support.random_snapshots import LAYOUTS, ToyAllocator, write_snapshot
from tests.support.sessions import fed
from tests.support.shared_data import shared_file


def session_of(document):
    session = fed(SessionModel(), list(frames_of(read_document(document), "a.pickle")))
    assert session.problems == []
    return session.store


def live_after_events(store):
    """Return the live bytes of all devices after each event of the trace."""
    start = sum(int(record.columns["size_bytes"].sum()) for record in store.records("baseline"))
    points = np.append(start, start + np.cumsum(store.tables["alloc"]["delta_bytes"]))
    rows = np.append(store.tables["trace"]["alloc_row"][1:], len(store.tables["alloc"]))
    return points[rows].tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("devices", [1, 3])
def test_that_live_bytes_are_the_allocators_own_after_every_event(layout, seed, devices):
    toy = ToyAllocator(seed, devices=devices, streams=2, pools=2).run(200)
    store = session_of(toy.snapshot(layout))
    if layout > "2024" or devices == 1:  # without times, devices cannot be interleaved
        assert live_after_events(store) == toy.live_bytes
    assert live_after_events(store)[-1] == toy.live_bytes[-1]


@pytest.mark.parametrize("first", [37, 120, 199, 200])
@pytest.mark.parametrize("seed", range(4))
def test_that_what_a_ring_buffer_overwrote_is_in_the_baseline(first, seed):
    toy = ToyAllocator(seed, streams=2).run(200)
    store = session_of(toy.snapshot(first=first))
    assert live_after_events(store)[-len(toy.live_bytes[first:]) :] == toy.live_bytes[first:] or first == 200
    notes = store.records("source")[0].meta["notes"]
    assert any("before the history begins" in note or "no allocation history" in note for note in notes)


@pytest.mark.parametrize("dropped", ["free_requested", "free_completed"])
def test_that_either_half_of_a_free_is_enough(dropped):
    toy = ToyAllocator(3).run(300)
    document = toy.snapshot()
    document["device_traces"][0] = [e for e in document["device_traces"][0] if e["action"] != dropped]
    pending = sum(b["requested_size"] for s in document["segments"] for b in s["blocks"]
                  if b["state"] == "active_pending_free")  # fmt: skip
    store = session_of(document)
    assert live_after_events(store)[-1] in (toy.live_bytes[-1], toy.live_bytes[-1] - pending)


def test_that_frees_nobody_recorded_are_inferred_and_said():
    toy = ToyAllocator(5).run(300)
    document = toy.snapshot()
    trace = document["device_traces"][0]
    gone = [at for at, event in enumerate(trace) if event["action"].startswith("free_")][:40]
    document["device_traces"][0] = [event for at, event in enumerate(trace) if at not in gone]
    store = session_of(document)
    start = sum(int(record.columns["size_bytes"].sum()) for record in store.records("baseline"))
    end = start + int(store.tables["alloc"]["delta_bytes"].sum())
    assert end == toy.live_bytes[-1]
    assert any("were inferred" in note for note in store.records("source")[0].meta["notes"])


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("name", ["a.pickle", "a.pickle.gz", "a.json", "a.json.gz", "a.bin"])
def test_that_the_form_of_the_file_does_not_matter(protocol, name, tmp_path):
    toy = ToyAllocator(1).run(100)
    document = load_document(write_snapshot(toy.snapshot(), tmp_path / name, protocol))
    assert live_after_events(session_of(document)) == toy.live_bytes


def test_that_a_bare_list_of_segments_opens():
    toy = ToyAllocator(2).run(100)
    store = session_of(toy.snapshot()["segments"])
    record = store.records("segments")[0]
    assert int(record.columns["segment_bytes"].sum()) == sum(s.size for s in toy.segments)
    assert int(store.records("baseline")[0].columns["size_bytes"].sum()) == toy.live_bytes[-1]


def test_that_unknown_actions_and_keys_are_kept_and_named():
    document = ToyAllocator(2).run(50).snapshot()
    event = document["device_traces"][0][10] | {"action": "teleport", "colour": "red"}
    document["device_traces"][0].insert(11, event)
    document["novelty"] = 1
    store = session_of(document)
    names = [store.string(int(number)) for number in store.tables["trace"]["action"]]
    assert names[11] == "teleport"
    unknown = store.records("source")[0].meta["unknown"]
    assert {"action teleport", "event key colour", "key novelty"} <= set(unknown)


def test_that_stacks_streams_and_pools_arrive():
    toy = ToyAllocator(8, streams=3, pools=2).run(200)
    store = session_of(toy.snapshot())
    event, table = toy.traces[0][0], store.tables["trace"]
    frames = store.stacks.frames_of(int(table["stack"][0]))
    names = [store.string(int(store.stacks.functions[frame])) for frame in frames]
    assert names == [frame["name"] for frame in event["frames"]]
    assert {store.string(int(number)) for number in store.tables["alloc"]["pool"]} == {"", "(0, 1)"}
    assert set(store.tables["alloc"]["stream"].tolist()) == {0, 1, 2}


def test_that_annotations_give_steps_and_phases():
    toy = ToyAllocator(4)
    for _ in range(3):
        toy.run(len(toy.order) + 30)
        toy.annotate("START", "Optimizer.step#AdamW.step")
        toy.run(len(toy.order) + 10)
        toy.annotate("END", "Optimizer.step#AdamW.step")
    store = session_of(toy.snapshot())
    steps = store.tables["step"]
    assert steps["step"].tolist() == [0, 1, 2]
    assert (steps["optimizer_ns"] > 0).all()
    assert (steps["t1_ns"] > steps["t0_ns"]).all()
    in_steps = [
        store.tables["alloc"]["delta_bytes"][store.tables["alloc"]["step"] <= n].sum() for n in range(3)
    ]
    start = store.records("baseline")[0].columns["size_bytes"].sum() if store.records("baseline") else 0
    assert steps["live_bytes"].tolist() == [int(start + delta) for delta in in_steps]


@pytest.mark.parametrize(
    ("name", "events", "peak_mib", "end", "reserved"),
    [
        ("gpt_medium_ctx512_train_2026.pickle", 22_332, 11_850.9, 6_829_260_804, 12_660_506_624),
        ("gpt_step_annotated_2026-03.pickle", 6_486, 3_670.9, 3_064_418_304, 4_238_344_192),
        ("legacy2023_oom_history_blocks.pickle", 1, 11_291.6, 11_840_159_744, 11_844_714_496),
    ],
)
def test_that_the_numbers_of_handed_files_are_right_to_the_byte(name, events, peak_mib, end, reserved):
    path = shared_file(f"data/snapshots/{name}")
    session = load_session(path)
    store, alloc = session.store, session.store.tables["alloc"]
    start = int(store.records("baseline")[0].columns["size_bytes"].sum())
    total = np.append(start, start + np.cumsum(alloc["delta_bytes"]))
    assert (len(store.tables["trace"]), int(total[-1])) == (events, end)
    assert math.floor(total.max() / 2**20 * 10) / 10 == peak_mib
    assert int(store.records("segments")[0].columns["segment_bytes"].sum()) == reserved
    with path.open("rb") as file:
        document = pickle.load(file)
    living = [b for s in document["segments"] for b in s["blocks"] if b["state"] != "inactive"]
    assert sum(block["requested_size"] for block in living) == end
    live = highest = end  # and backwards, event by event
    for event in reversed(document["device_traces"][0]):
        live += {"alloc": -event["size"], "free_completed": event["size"]}.get(event["action"], 0)
        highest = max(highest, live)
    assert (live, highest) == (start, int(total.max()))


@pytest.mark.parametrize(
    "document",
    [
        {"segments": 3}, {"segments": [3]}, {"segments": [{}]}, {"device_traces": []}, 7, "text", None,
        {"segments": [], "device_traces": [[3]]}, {"segments": [], "device_traces": 3},
        {"segments": [], "device_traces": [[{"action": "alloc", "addr": "x", "size": 1}]]},
        {"segments": [], "device_traces": [[{"action": "alloc", "addr": 1, "size": 2**80}]]},
        {"segments": [], "device_traces": [[{"action": "alloc", "addr": 1, "size": 1, "frames": 3}]]},
        {"segments": [], "device_traces": [[{"action": "alloc", "addr": 1, "size": 1, "frames": [3]}]]},
        {"segments": [{"address": 0, "total_size": 1, "blocks": [{"size": -1}]}]},
    ],
)  # fmt: skip
def test_that_what_is_no_snapshot_is_refused_with_a_reason(document):
    with pytest.raises(ReaderError, match=r"snapshot|number|frame|stack|segment|event|block|trace"):
        read_cuda_snapshot(json.loads(json.dumps(document)))
