"""`tensorscope attach`: look at a program that runs with the agent in it."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tensorscope.cli.arguments import positive
from tensorscope.cli.window import show_window
from tensorscope.core.errors import LinkError, SessionFileError
from tensorscope.core.handshake import read_token
from tensorscope.core.runtime_dir import socket_path
from tensorscope.launch.process_check import why_not_attachable

if TYPE_CHECKING:
    from tensorscope.models.session_model import SessionModel

EXAMPLES = """examples:
  tensorscope attach 12345                                 a process on this machine
  tensorscope attach unix:/run/user/1000/tensorscope/12345.sock
  tensorscope attach tcp:127.0.0.1:7000                    a forwarded port; token in TENSORSCOPE_TOKEN
  tensorscope attach 12345 --headless --steps 50 --record a.tscope
"""
_POLL_SECONDS = 0.02


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("address", metavar="ADDRESS", help="process id, unix:/path or tcp:127.0.0.1:PORT")
    parser.add_argument("--headless", action="store_true", help="no window; needs --record")
    parser.add_argument("--steps", type=positive, default=0, metavar="N", help="detach after N steps")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write a session file")
    parser.add_argument("--token-file", type=Path, help="file (mode 600) with the token for tcp")


def run(settings: argparse.Namespace) -> int:
    """Attach; the program goes on when we leave."""
    token = read_token(settings.token_file)
    if settings.address.isdecimal() and not socket_path(int(settings.address)).exists():
        raise LinkError(why_not_attachable(int(settings.address)))
    if not settings.headless:
        return show_window(
            "Add --headless --record FILE to record without one.",
            address=settings.address, token=token, record=settings.record, steps=settings.steps,
        )  # fmt: skip
    if settings.record is None:
        raise SessionFileError("Without a window there must be a file: add --record FILE.")
    return _headless(settings, token)


def _headless(settings: argparse.Namespace, token: str | None) -> int:
    from tensorscope.models.session_model import SessionModel
    from tensorscope.transport.link import Link

    link = Link(settings.address, token)
    session = SessionModel(settings.address, link)
    try:
        link.wait_open()
        session.start_recording(settings.record)
        lost = _record(session, settings.steps)
    finally:
        link.close()
        session.stop_recording()
    for problem in session.problems:
        print(f"tensorscope: {problem}", file=sys.stderr)
    if lost:
        raise LinkError(f"{lost} What came before is in {settings.record}.")
    print(f"Recorded {session.recorded_steps} steps into {settings.record}.")
    return 0


def _record(session: SessionModel, steps: int) -> str:
    """Take in frames until `steps` are complete or the target goes; return why it was lost.

    Leaving is enough: a program with nobody attached is as it was, and can be attached to again.
    """
    while True:
        while session.pump(budget_ms=0):  # frame by frame, so that the file ends with the last step wanted
            if 0 < steps <= session.recorded_steps:
                return ""
        if session.state in ("closed", "lost"):
            problem = session.source.problem if session.source is not None else ""
            return problem if session.state == "lost" else ""
        time.sleep(_POLL_SECONDS)
