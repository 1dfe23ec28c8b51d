"""Tables and traces for other tools, read back and summed."""

import csv
import gzip
import io
import json

import numpy as np
import pytest

from tensorscope.core.schema import CATEGORIES
from tensorscope.models.allocations import find_allocations
from tensorscope.models.data_files import write_data
from tensorscope.models.event_rows import BLOCK_HEADER, EVENT_HEADER
from tensorscope.models.session_model import SessionModel
from tensorscope.readers.documents import read_document
from tensorscope.readers.frames import frames_of
from tests.support.random_snapshots import ToyAllocator
from tests.support.sessions import fed, sample_session


@pytest.fixture(scope="module")
def stores():
    toy = ToyAllocator(2, streams=2, pools=2)
    toy.run(80)
    toy.annotate("START", "a batch")
    toy.run(160)
    toy.annotate("END", "a batch")
    toy.out_of_memory(1 << 30, device_free=0)
    snapshot = fed(SessionModel(), list(frames_of(read_document(toy.snapshot()), "a.pickle"))).store
    return {"cpu": sample_session().store, "snapshot": snapshot}


def rows_of(path):
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("name", ["cpu", "snapshot"])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_that_the_event_table_holds_every_event(name, suffix, stores, tmp_path):
    store, path = stores[name], tmp_path / f"a{suffix}"
    write_data(store, "events", path)
    rows, table = rows_of(path), store.tables["alloc"]
    assert tuple(rows[0]) == EVENT_HEADER
    assert [int(row["delta_bytes"]) for row in rows] == table["delta_bytes"].tolist()
    assert [int(row["address"], 16) for row in rows] == table["address"].tolist()
    assert all(row["category"] in CATEGORIES for row in rows)
    if name == "snapshot":
        assert any(".py:" in row["line"] for row in rows)
        assert {row["pool"] for row in rows} == {"", "(0, 1)"}


@pytest.mark.parametrize("name", ["cpu", "snapshot"])
def test_that_the_block_table_holds_every_block(name, stores, tmp_path):
    store, path = stores[name], tmp_path / "a.csv"
    write_data(store, "blocks", path)
    rows, blocks = rows_of(path), find_allocations(store)
    assert tuple(rows[0]) == BLOCK_HEADER
    assert sum(int(row["size_bytes"]) for row in rows) == int(blocks.size_bytes.sum())
    assert sum(not row["end_s"] for row in rows) == len(blocks.alive_before(len(blocks.owner)))


@pytest.mark.parametrize("name", ["cpu", "snapshot"])
def test_that_the_trace_is_one_that_perfetto_reads(name, stores, tmp_path):
    store, path = stores[name], tmp_path / "a.json.gz"
    write_data(store, "perfetto", path)
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    needed = {"X": {"ts", "dur", "pid", "tid", "name"}, "C": {"ts", "pid", "name", "args"},
              "i": {"ts", "pid", "tid", "name", "s"}, "M": {"pid", "name", "args"},
              "B": {"ts", "pid", "tid", "name"}, "E": {"ts", "pid", "tid"}}  # fmt: skip
    for event in events:
        assert needed[event["ph"]] <= set(event)
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 0) >= 0
    counters = [event for event in events if event["ph"] == "C" and event["name"] == "live bytes"]
    assert len(counters) == len(store.tables["alloc"]) + len(store.records("baseline"))
    start = sum(int(record.columns["size_bytes"].sum()) for record in store.records("baseline"))
    totals = np.append(start, start + np.cumsum(store.tables["alloc"]["delta_bytes"]))
    assert [sum(event["args"].values()) for event in counters] == totals[-len(counters) :].tolist()
    assert sum(event["ph"] == "X" and event["name"].startswith("step ") for event in events) == len(
        store.tables["step"]
    )
    if name == "snapshot":
        names = {event["name"] for event in events if event["ph"] == "i"}
        assert {"oom", "segment_alloc"} <= names
        assert {event["ph"] for event in events if event.get("name") == "a batch"} == {"B", "E"}
        assert any(event["name"] == "reserved bytes" for event in events)


def test_that_spans_of_one_thread_nest(stores, tmp_path):
    path = tmp_path / "a.json"
    write_data(stores["cpu"], "perfetto", path)
    threads = {}
    for event in json.loads(path.read_text())["traceEvents"]:
        if event["ph"] == "X":
            threads.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    for spans in threads.values():
        ends = []
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while ends and ends[-1] <= begin + 0.001:
                ends.pop()
            assert not ends or end <= ends[-1] + 0.001
            ends.append(end)


def test_that_a_file_that_cannot_be_written_leaves_nothing(stores, tmp_path):
    with pytest.raises(OSError, match="No such file"):
        write_data(stores["cpu"], "events", tmp_path / "none" / "a.csv")
    assert list(tmp_path.iterdir()) == []
