"""The profiler's traces and memory timelines, against sums made event by event."""

import gzip
import json
import random

import numpy as np
import pytest

from tensorscope.core.errors import ReaderError
from tensorscope.core.schema import CATEGORIES
from tensorscope.models.session_loading import load_session
from tensorscope.models.session_model import SessionModel
from tensorscope.readers.documents import read_document
from tensorscope.readers.enclosing_calls import calls_at
from tensorscope.readers.frames import frames_of
from tests.support.sessions import fed
from tests.support.shared_data import shared_file


def session_of(document):
    session = fed(SessionModel(), list(frames_of(read_document(document), "a.json")))
    assert session.problems == []
    return session.store


def memory_event(ts, size, addr=None, device=0, tid=1):
    args = {"Device Type": 0 if device < 0 else 1, "Device Id": device, "Bytes": size}
    if addr is not None:
        args |= {"Addr": addr, "Total Allocated": 0, "Total Reserved": 0}
    return {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": tid, "ts": ts, "args": args}


def call(name, ts, dur, cat="cpu_op", tid=1):
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": {}}


def points(store):
    start = sum(int(record.columns["size_bytes"].sum()) for record in store.records("baseline"))
    return np.append(start, start + np.cumsum(store.tables["alloc"]["delta_bytes"]))


@pytest.mark.parametrize("addresses", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_that_the_sums_of_a_trace_are_those_of_its_events(addresses, seed):
    rng, live, events, expected = random.Random(seed), {}, [], [0]
    for ts in range(200):
        if live and rng.random() < 0.45:
            size = -live.pop(address := rng.choice(list(live)))
        else:
            size, address = rng.choice([64, 64, 512]), 1000 + ts
            live[address] = size
        events.append(memory_event(ts, size, address if addresses else None))
        expected.append(expected[-1] + size)
    store = session_of({"traceEvents": events})
    assert points(store).tolist() == expected
    notes = store.records("source")[0].meta["notes"]
    assert any("Addresses were not recorded" in note for note in notes) != addresses


def test_that_a_free_of_what_was_there_before_is_in_the_baseline():
    events = [memory_event(1, 100, 8), memory_event(2, -700, 16), memory_event(3, -100, 8)]
    store = session_of({"traceEvents": events})
    assert points(store).tolist() == [700, 800, 100, 0]


def test_that_an_allocation_knows_its_operators_steps_and_phase():
    document = {
        "baseTimeNanoseconds": 10**18,
        "traceEvents": [
            call("ProfilerStep#7", 0, 100, "user_annotation"), call("aten::linear", 10, 20),
            call("train.py(12): forward", 5, 40, "python_function"), call("aten::addmm", 12, 5),
            call("elsewhere", 0, 100, tid=2), call("Optimizer.step#SGD.step", 60, 30, "user_annotation"),
            memory_event(13, 64, 1), memory_event(70, 32, 2), memory_event(150, -64, 1),
        ],
    }  # fmt: skip
    store = session_of(document)
    table = store.tables["alloc"]
    frames = store.stacks.frames_of(int(table["stack"][0]))
    names = [store.string(int(store.stacks.functions[frame])) for frame in frames]
    assert names == ["aten::addmm", "aten::linear", "forward", "ProfilerStep#7"]
    assert int(store.stacks.lines[frames[2]]) == 12
    assert table["step"].tolist() == [7, 7, 8]
    assert table["phase"].tolist() == [0, 3, 0]
    assert int(table["t_ns"][0]) == 10**18 + 13_000


def test_that_enclosing_calls_are_those_of_brute_force():
    rng = random.Random(1)
    spans, moments = [], [(rng.randrange(2), rng.randrange(1000)) for _ in range(200)]

    def nest(tid, begin, end, depth):
        if end - begin < 4 or depth > 6:
            return
        spans.append(call(f"{begin}-{end}", begin, end - begin, tid=tid))
        cut = rng.randrange(begin, end)
        nest(tid, begin + 1, cut, depth + 1)
        nest(tid, cut + 1, end, depth + 1)

    for tid in range(2):
        nest(tid, 0, 1000, 0)
    rng.shuffle(spans)
    for (tid, at), found in zip(moments, calls_at(spans, moments), strict=True):
        holds = [s for s in spans if s["tid"] == tid and s["ts"] <= at <= s["ts"] + s["dur"]]
        expected = sorted(holds, key=lambda s: (s["ts"], -s["dur"]))
        assert [s["name"] for s in found] == [s["name"] for s in expected]


def test_that_a_trace_without_memory_events_says_how_to_get_them():
    store = session_of({"traceEvents": [call("ProfilerStep#1", 0, 10, "user_annotation")]})
    assert "profile_memory=True" in store.records("source")[0].meta["notes"][0]
    assert store.tables["step"]["step"].tolist() == [1]


def test_that_a_raw_timeline_follows_a_block_to_its_last_category():
    rows = [[-1, 1, 300, 0], [10, 2, 100, 3], [11, 3, -100, 3], [11, 3, 100, 5]]
    rows += [[12, 2, 50, 4], [13, 4, -50, 4]]
    store = session_of(rows)
    assert points(store).tolist() == [300, 400, 450, 400]
    names = [CATEGORIES[category] for category in store.tables["alloc"]["category"]]
    assert names == ["gradient", "activation", "activation"]


@pytest.mark.parametrize("seed", range(5))
def test_that_sizes_by_category_come_back_at_every_time(seed):
    rng = random.Random(seed)
    sizes = [[0] + [rng.randrange(4) * 100 for _ in range(8)] for _ in range(50)]
    times = list(range(0, 500, 10))
    store = session_of([times, sizes])
    table = store.tables["alloc"]
    for at, row in zip(times, sizes, strict=True):
        until = table["t_ns"] <= at
        assert int(table["delta_bytes"][until].sum()) == sum(row)


@pytest.mark.parametrize(
    ("name", "events"),
    [
        ("resnet50_v100_2021_memory_noaddr.pt.trace.json.gz", 12_838),
        ("memory_timeline.raw.json.gz", 6_690),
    ],
)
def test_that_handed_traces_have_the_sums_of_their_own_events(name, events):
    path = shared_file(f"data/kineto/{name}")
    session = load_session(path)
    document = json.loads(gzip.decompress(path.read_bytes()))
    if isinstance(document, dict):
        sizes = [e["args"]["Bytes"] for e in document["traceEvents"] if e.get("name") == "[memory]"]
        start = -int(min(0, np.cumsum(sizes).min()))
    else:
        sizes = [row[2] for row in document if row[1] in (2, 4)]
        start = sum(row[2] for row in document if row[1] == 1)
    assert session.problems == []
    assert len(session.store.tables["alloc"]) == events == len(sizes)
    if isinstance(document, list):
        assert points(session.store).tolist() == [start, *(start + np.cumsum(sizes)).tolist()]
    else:  # in the order of time, which the file does not keep
        assert int(points(session.store)[-1] - points(session.store)[0]) == sum(sizes)


@pytest.mark.parametrize(
    "document",
    [
        {"traceEvents": 3}, {"traceEvents": [3]}, {"traceEvents": [{"name": "[memory]"}]},
        {"traceEvents": [{"name": "[memory]", "ts": "x", "args": {}}]},
        {"traceEvents": [memory_event(1, 2**70, 1)]}, [[1, 2, 3, 4], [1, 9, 3, 4]],
        [[1, 2, "x", 4]], [[1, 2], [[1, 2], [3]]],
    ],
)  # fmt: skip
def test_that_damaged_traces_are_refused_with_a_reason(document):
    with pytest.raises(ReaderError):
        read_document(document)
