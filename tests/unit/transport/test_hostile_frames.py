"""Whatever comes over the wire ends in frames or in one of our errors, within the stated bounds."""

from __future__ import annotations

import contextlib
import json
import random
import tracemalloc
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tensorscope.core.errors import DataError, ProtocolError
from tensorscope.core.schema import RECORD_COLUMNS, STREAM_COLUMNS
from tensorscope.core.wire import (
    ITEM_BYTES,
    MAGIC,
    MAX_HEADER_BYTES,
    MAX_PAYLOAD_BYTES,
    PREFIX,
    Column,
    Frame,
    FrameParser,
    decode_parts,
    encode,
    encode_parts,
)
from tensorscope.models.session_store import SessionStore
from tests.support.sample_frames import column, sample_frames

FAST = settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))


@cache
def good_frames() -> list[bytes]:
    return [encode(frame) for frame in sample_frames(steps=2)]


def parse_all(data: bytes, piece: int = 1 << 16) -> list[Frame]:
    """Return what a stream holds up to the first error, which must be ours."""
    parser, frames = FrameParser(), []
    try:
        for at in range(0, len(data), piece):
            frames += list(parser.feed(data[at : at + piece]))
    except ProtocolError as error:
        frames.append(Frame("refused", meta={"why": str(error)}))
    return frames


def ingest_all(frames: list[Frame]) -> SessionStore:
    store = SessionStore()
    for frame in frames:
        with contextlib.suppress(DataError):
            store.ingest(frame)
    return store


@given(st.binary(max_size=300))
@FAST
def test_that_random_bytes_are_refused_or_waited_for(data: bytes) -> None:
    frames = parse_all(data)
    assert all(frame.kind == "refused" for frame in frames)
    assert len(frames) == (len(data) >= PREFIX.size and not data.startswith(MAGIC)) or data.startswith(MAGIC)


@given(st.binary(max_size=200), st.binary(max_size=200))
@FAST
def test_that_a_frame_with_a_random_body_is_refused(header: bytes, payload: bytes) -> None:
    data = PREFIX.pack(MAGIC, len(header), len(payload)) + header + payload
    assert [frame.kind for frame in parse_all(data)] == ["refused"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "kind": JSON | st.sampled_from([*STREAM_COLUMNS, *RECORD_COLUMNS, "strings", "hello"]),
            "seq": JSON | st.just(0),
            "step": JSON | st.just(0),
            "clock_ns": JSON | st.just(0),
            "meta": JSON | st.just({}),
            "cols": JSON
            | st.lists(
                st.tuples(
                    st.text(max_size=5),
                    st.sampled_from(sorted(ITEM_BYTES)),
                    st.lists(st.integers(-2, 3), max_size=3),
                ),
                max_size=3,
            ),
        },
    ),
    st.binary(max_size=64),
)
@FAST
def test_that_any_json_header_gives_a_frame_or_a_protocol_error(header: object, payload: bytes) -> None:
    try:
        frame = decode_parts(json.dumps(header).encode(), payload)
    except ProtocolError:
        return
    assert sum(len(c.data) for c in frame.columns.values()) == len(payload)
    ingest_all([frame])


def test_that_mutated_sessions_never_break_the_store() -> None:
    dice = random.Random(11)
    for _ in range(6000):
        data = bytearray(dice.choice(good_frames()))
        for _ in range(dice.randrange(1, 6)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        ingest_all(parse_all(bytes(data)))


def test_that_a_stream_cut_anywhere_gives_exactly_the_frames_before_the_cut() -> None:
    frames = good_frames()
    data, dice = b"".join(frames), random.Random(5)
    ends = [sum(map(len, frames[: i + 1])) for i in range(len(frames))]
    for _ in range(500):
        cut = dice.randrange(len(data))
        assert len(parse_all(data[:cut], dice.randrange(1, 5000))) == sum(end <= cut for end in ends)


def test_that_lengths_over_the_bound_are_refused_before_anything_is_allocated() -> None:
    parser = FrameParser()
    tracemalloc.start()
    for header, payload in ((MAX_HEADER_BYTES + 1, 0), (10, MAX_PAYLOAD_BYTES + 1), (2**32 - 1, 2**32 - 1)):
        with pytest.raises(ProtocolError, match="over the bound"):
            list(FrameParser().feed(PREFIX.pack(MAGIC, header, payload)))
    huge = {
        "kind": "x",
        "seq": 0,
        "step": 0,
        "clock_ns": 0,
        "meta": {},
        "cols": [["a", "f8", [2**40, 2**40]]],
    }
    with pytest.raises(ProtocolError, match="over the bound"):
        decode_parts(json.dumps(huge).encode(), b"")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
    assert parser.pending_bytes == 0


def test_that_a_deeply_nested_header_is_refused() -> None:
    with pytest.raises(ProtocolError, match="not JSON"):
        decode_parts(b'{"kind":' + b"[" * 200_000, b"")


def replaced(kind: str, name: str, values: float | list[float] | Column) -> Frame:
    """Return a good frame but for one column; a number stands for as many as there were."""
    frame = next(frame for frame in sample_frames(steps=1) if frame.kind == kind)
    dtype = {**STREAM_COLUMNS, **RECORD_COLUMNS}[kind][name]
    if isinstance(values, int):
        values = [values] * frame.columns[name].shape[0]
    new = values if isinstance(values, Column) else column(dtype, values)
    return Frame(kind, frame.step, frame.clock_ns, 0, frame.meta, {**frame.columns, name: new})


@pytest.mark.parametrize(
    ("kind", "name", "values", "why"),
    [
        ("graph", "edge_to", 10**6, "names a node"),
        ("graph", "edge_from", -1, "names a node"),
        ("graph", "node_seq", [1], "different lengths"),
        ("graph", "saved_node", -5, "names a node"),
        ("tensors", "ndim", 255, "axes"),
        ("tensors", "ndim", [1, 2], "different lengths"),
        ("tensors", "sizes_elems", [1, 2, 3], "entries"),
        ("tensors", "role", 200, "largest known"),
        ("baseline", "category", 99, "largest known"),
        ("baseline", "size_bytes", -1, "negative"),
        ("alloc", "category", 8, "largest known"),
        ("alloc", "category", [1], "different lengths"),
        ("phase", "phase", 4, "largest known"),
        ("step", "step", Column("f8", (1,), bytes(8)), "not int32"),
        ("step", "step", Column("i4", (1, 1), bytes(4)), "not int32"),
        ("step", "step", -3, "negative"),
    ],
)
def test_that_impossible_content_is_left_out_and_changes_nothing(
    kind: str, name: str, values: float | list[float] | Column, why: str
) -> None:
    store = SessionStore()
    with pytest.raises(DataError, match=why):
        store.ingest(replaced(kind, name, values))
    assert store.version == 0
    assert not store.records(kind)
    assert all(len(table) == 0 for table in store.tables.values())


def test_that_steps_that_do_not_grow_are_left_out() -> None:
    store = SessionStore()
    steps = [frame for frame in sample_frames(steps=3) if frame.kind == "step"]
    for frame in (steps[0], steps[2]):
        store.ingest(frame)
    for frame in (steps[1], steps[2]):
        with pytest.raises(DataError, match="do not grow"):
            store.ingest(frame)
    assert store.tables["step"]["step"].tolist() == [0, 2]


def test_that_what_cannot_be_sent_is_refused_at_the_sender() -> None:
    with pytest.raises(ProtocolError, match="wrong number of bytes"):
        encode_parts(Frame("x", columns={"a": Column("i4", (3,), bytes(8))}))
    with pytest.raises(ProtocolError, match="unknown column dtype"):
        encode_parts(Frame("x", columns={"a": Column("O", (1,), bytes(8))}))
    with pytest.raises(ProtocolError, match="too large"):
        encode_parts(Frame("x", meta={"text": "x" * (MAX_HEADER_BYTES + 1)}))
