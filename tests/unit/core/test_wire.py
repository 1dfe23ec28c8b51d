from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorscope.core.errors import DataError, ProtocolError
from tensorscope.core.wire import (
    MAGIC,
    PREFIX,
    Column,
    Frame,
    FrameParser,
    decode_parts,
    encode,
    encode_parts,
)
from tensorscope.models.session_store import SessionStore
from tests.support.sample_frames import sample_frames

VALID = [encode(frame) for frame in sample_frames(steps=1)]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def _twisted(draw: st.DrawFn) -> bytes:
    """A valid frame, of whose header, meta or columns one value is any JSON."""
    data = draw(st.sampled_from(VALID))
    _, header_bytes, _ = PREFIX.unpack_from(data)
    head = json.loads(data[PREFIX.size : PREFIX.size + header_bytes])
    if head["cols"] and draw(st.booleans()):
        draw(st.sampled_from(head["cols"]))[draw(st.integers(0, 2))] = draw(JSON)
    else:
        place = head["meta"] if head["meta"] and draw(st.booleans()) else head
        place[draw(st.sampled_from(sorted(place)))] = draw(JSON)
    header = json.dumps(head).encode()
    payload = data[PREFIX.size + header_bytes :]
    return PREFIX.pack(MAGIC, len(header), len(payload)) + header + payload


@settings(max_examples=1500, deadline=None)
@given(_twisted())
def test_that_a_frame_with_any_json_in_any_place_is_refused_or_can_be_written_again(data: bytes) -> None:
    try:
        (frame,) = FrameParser().feed(data)
    except ProtocolError:
        return
    assert next(FrameParser().feed(encode(frame))) == frame
    frame.kind.encode()
    try:
        SessionStore().ingest(frame)
    except DataError:
        return


@pytest.mark.parametrize("shape", [[0, 2**62, 2**62], [0, 2**70], [2**40], [True], [-1], [1.0], [0] * 9])
def test_that_a_shape_that_no_array_can_have_is_refused(shape: list[object]) -> None:
    head = {"kind": "x", "seq": 0, "step": 0, "clock_ns": 0, "meta": {}, "cols": [["a", "i8", shape]]}
    with pytest.raises(ProtocolError):
        decode_parts(json.dumps(head).encode(), b"")


@pytest.mark.parametrize("kind", ["\ud800", "x" * 65, "ü"])
def test_that_a_kind_is_a_short_plain_word(kind: str) -> None:
    head = {"kind": kind, "seq": 0, "step": 0, "clock_ns": 0, "meta": {}, "cols": []}
    with pytest.raises(ProtocolError, match="bad kind"):
        decode_parts(json.dumps(head).encode(), b"")


def test_that_what_json_cannot_say_is_neither_sent_nor_taken() -> None:
    with pytest.raises(ProtocolError, match="cannot be written as JSON"):
        encode_parts(Frame("notice", meta={"loss": float("nan")}))
    with pytest.raises(ProtocolError, match="NaN is not JSON"):
        decode_parts(b'{"kind":"x","seq":0,"step":0,"clock_ns":0,"meta":{"loss":NaN},"cols":[]}', b"")


def test_that_a_large_frame_in_small_pieces_is_held_at_most_twice() -> None:
    size = 16 << 20
    data = encode(Frame("x", columns={"a": Column("u1", (size,), bytes(size))}))
    parser, found = FrameParser(), []
    tracemalloc.start()
    try:
        for at in range(0, len(data), 1 << 16):
            found += parser.feed(data[at : at + (1 << 16)])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [frame.columns["a"].shape for frame in found] == [(size,)]
    assert parser.pending_bytes == 0
    assert peak < 2.5 * size
