from __future__ import annotations

import pytest

from tensorscope.core.wire import Frame
from tensorscope.models.session_model import SessionModel
from tests.support.sample_frames import sample_frames

FRAMES = {frame.kind: frame for frame in sample_frames(steps=1)}


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("hello", "origin_ns", "soon"),
        ("hello", "origin_ns", None),
        ("hello", "origin_ns", 10**30),
        ("hello", "origin_ns", True),
        ("hello", "devices", ["cpu"]),
        ("hello", "argv", "train.py"),
        ("heartbeat", "dropped_frames", [1]),
        ("graph", "root_names", 3),
    ],
)
def test_that_a_frame_with_impossible_meta_is_left_out_and_named(kind: str, name: str, value: object) -> None:
    session, good = SessionModel(), FRAMES[kind]
    bad = Frame(kind, good.step, good.clock_ns, 0, {**good.meta, name: value}, good.columns)
    session.ingest(bad)
    assert len(session.problems) == 1
    assert repr(name) in session.problems[0]
    assert session.store.all_records() == []
    assert (session.store.hello, session.store.heartbeat, session.store.origin_ns) == ({}, {}, 0)
    session.ingest(good)
    assert len(session.problems) == 1


def test_that_what_a_session_leaves_out_is_not_recorded() -> None:
    class Recording:
        def __init__(self) -> None:
            self.frames: list[Frame] = []

        def put(self, frame: Frame) -> None:
            self.frames.append(frame)

    session, recording = SessionModel(), Recording()
    session.recording = recording  # type: ignore[assignment]
    session.ingest(Frame("hello", meta={"origin_ns": "soon"}))
    session.ingest(Frame("strings", meta={}))
    session.ingest(FRAMES["hello"])
    assert recording.frames == [FRAMES["hello"]]
