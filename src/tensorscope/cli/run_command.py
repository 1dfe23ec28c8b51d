"""`tensorscope run`: run an unmodified training script as a target."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tensorscope.core.errors import LaunchError, SessionFileError
from tensorscope.launch.target import Target, TargetOptions

EXAMPLES = """examples:
  tensorscope run train.py --lr 3e-4                     open the window on it
  tensorscope run -m mypackage.train                     the same for a module
  tensorscope run --headless --record a.tscope --steps 100 train.py
                                                         no window: record 100 steps, then stop it
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("--record", type=Path, metavar="FILE", help="write a session file as it runs")
    parser.add_argument("--steps", type=int, default=0, metavar="N", help="stop the script after N steps")
    parser.add_argument("--headless", action="store_true", help="no window")
    parser.add_argument("--level", choices=("pulse", "scope"), default="scope", help="how much to capture")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has torch")
    parser.add_argument("--address", default="", help="where to listen: unix:/path or tcp:127.0.0.1:PORT")
    parser.add_argument("--token-file", type=Path, help="file (mode 600) with the token for tcp")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module, not a file")
    parser.add_argument("script", metavar="SCRIPT", help="what to run")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGS", help="its arguments")


def run(settings: argparse.Namespace) -> int:
    """Run the script."""
    if settings.record is not None and settings.record.exists():
        raise SessionFileError(f"{settings.record} exists already: choose another name or remove it.")
    options = TargetOptions(
        [settings.script, *settings.arguments], module=settings.module, python=settings.python,
        record=settings.record, steps=settings.steps, level=settings.level, address=settings.address,
        token_file=settings.token_file,
    )  # fmt: skip
    if not settings.headless:
        from tensorscope.app.application import WindowRequest, run_window

        return run_window(WindowRequest(script=options))
    return _headless(options)


def _headless(options: TargetOptions) -> int:
    target = Target.start(options)
    try:
        address = target.wait_ready()
        if address != "none":
            print(f"tensorscope: attach with: tensorscope attach {address}", file=sys.stderr, flush=True)
        code = target.process.wait()
    finally:
        target.stop()
    if options.record is not None:
        print(f"tensorscope: recorded {options.record}", file=sys.stderr)
    if code != 0:
        raise LaunchError(f"{options.argv[0]} ended with exit code {code}.")
    return 0
