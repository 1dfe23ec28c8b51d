"""A real session of the demo: started as the window starts it, switched, recorded as the window records."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tensorscope.core.resource_paths import resource_path
from tensorscope.launch.target import Target, TargetOptions
from tensorscope.models.session_model import SessionModel
from tensorscope.transport.link import Link

SMALL = ("--layers", "3", "--width", "96", "--batch-size", "4", "--context", "64", "--threads", "1")
_PATIENCE_SECONDS = 120.0


def demo_options(*arguments: str) -> TargetOptions:
    """Return how to start the demo, small."""
    return TargetOptions([str(resource_path("demos/char_gpt.py")), *SMALL, *arguments], quiet=True)


def record_demo(path: Path, plain_steps: int = 12, autocast_steps: int = 6) -> Path:
    """Record plain steps, as many under autocast and a few plain ones again into `path`."""
    target = Target.start(demo_options())
    try:
        link = Link(target.wait_ready())
        session = SessionModel("char_gpt.py", link)
        session.start_recording(path, replace=True)
        pump_until(session, lambda: session.last_step >= plain_steps)
        for on in (True, False):
            session.send("toggle", name="autocast", on=on, params={"dtype": "bfloat16"} if on else {})
            switched = 2 - on
            pump_until(session, lambda n=switched: len(session.store.records("toggle")) == n)
            last = session.store.records("toggle")[-1].step + autocast_steps
            pump_until(session, lambda n=last: session.last_step >= n)
        session.stop_recording()
        link.close()
    finally:
        target.stop()
    return path


def pump_until(session: SessionModel, condition: Callable[[], bool]) -> None:
    """Take in what comes until `condition` holds."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"never so; {session.state}, step {session.last_step}"
        session.pump()
        time.sleep(0.005)
