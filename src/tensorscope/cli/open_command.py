"""`tensorscope open`: look at session files."""

from __future__ import annotations

import argparse
from pathlib import Path

from tensorscope.cli.window import show_window

EXAMPLES = """examples:
  tensorscope open run.tscope
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="session files")


def run(settings: argparse.Namespace) -> int:
    """Open the window on the files."""
    from tensorscope.transport.session_reader import SessionReader

    for path in settings.files:
        SessionReader(path).close()  # refuse what is no session file before a window opens
    instead = "Without one: tensorscope report FILE, tensorscope export FILE."
    return show_window(instead, paths=tuple(settings.files))
