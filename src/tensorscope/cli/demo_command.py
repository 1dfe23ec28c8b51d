"""`tensorscope demo`: train a small GPT on Python's own source text and look at it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tensorscope.cli.arguments import positive
from tensorscope.cli.window import has_display, show_window
from tensorscope.core.errors import LaunchError
from tensorscope.core.resource_paths import resource_path
from tensorscope.launch.target import Target, TargetOptions

EXAMPLES = """examples:
  tensorscope demo                                     open the window on it
  tensorscope demo --headless --steps 30 --out demo/   no window: write a session, a report and pictures
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("--headless", action="store_true", help="no window (implied where no display is)")
    parser.add_argument("--steps", type=positive, default=0, metavar="N", help="stop after N steps")
    parser.add_argument("--out", type=Path, default=Path("tensorscope-demo"), metavar="DIR",
                        help="where --headless writes (default: %(default)s)")  # fmt: skip


def run(settings: argparse.Namespace) -> int:
    """Run the demo."""
    script = str(resource_path("demos/char_gpt.py"))
    if settings.headless or not has_display():
        return _headless(script, settings.steps or 30, settings.out)
    options = TargetOptions([script], steps=settings.steps, quiet=True)
    return show_window("Add --headless.", script=options)


def _headless(script: str, steps: int, folder: Path) -> int:
    from tensorscope.app.session_outputs import write_outputs

    try:
        folder.mkdir(parents=True, exist_ok=True)
        record = folder / "session.tscope"
        record.unlink(missing_ok=True)
    except OSError as error:
        raise LaunchError(f"Cannot write into {folder}: {error.strerror}.") from None
    print(f"Training for {steps} steps …", flush=True)
    target = Target.start(TargetOptions([script], record=record, steps=steps, quiet=True))
    try:
        target.wait_ready()
        code = target.process.wait()
    finally:
        target.stop()
    if code != 0:
        print(target.output_tail(), file=sys.stderr)
        raise LaunchError(f"The demo ended with exit code {code}; its last lines are above.")
    for path in write_outputs(record, folder):
        print(path)
    return 0
