"""`tensorscope run`: run an unmodified training script as a target."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from tensorscope.cli.arguments import positive
from tensorscope.cli.window import show_window
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
    parser.add_argument(
        "--steps", type=positive, default=0, metavar="N", help="stop the script after N steps"
    )
    parser.add_argument("--headless", action="store_true", help="no window")
    parser.add_argument("--level", choices=("pulse", "scope"), default="scope", help="how much to capture")
    parser.add_argument(
        "--deep-every", type=positive, default=0, metavar="N",
        help="capture graph and tensors of every N-th step, not of the first alone",
    )  # fmt: skip
    parser.add_argument(
        "--gradients", action="store_true", help="measure gradients and outputs in those steps"
    )
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
        deep_every=settings.deep_every, gradients=settings.gradients, token_file=settings.token_file,
        outlives_window=True,
    )  # fmt: skip
    if not settings.headless:
        return show_window("Add --headless --record FILE to record without one.", script=options)
    return _headless(options)


def _headless(options: TargetOptions) -> int:
    """Run to the end; what the script prints goes where ours goes, what we say to standard error."""
    signal.signal(signal.SIGTERM, _terminate)
    target = Target.start(options)
    interrupted = False
    try:
        address = target.wait_ready()
        if address != "none":
            _say(f"attach with: tensorscope attach {address}")
        code = target.process.wait()
    except KeyboardInterrupt:
        interrupted = True
        code = target.wait_after_interrupt()
    finally:
        target.stop()
        if options.record is not None and options.record.exists():
            _say(f"recorded {_recorded_steps(options.record)} steps into {options.record}.")
    if interrupted:
        raise KeyboardInterrupt
    if code != 0:
        raise LaunchError(f"{options.argv[0]} ended with {_how(code)}.")
    return 0


def _terminate(*_: object) -> None:
    """End as after an error, so that the script does not stay behind."""
    raise LaunchError("terminated.")


def _recorded_steps(path: Path) -> int:
    from tensorscope.transport.session_reader import SessionReader

    with SessionReader(path) as reader:
        steps = [frame.columns.get("step") for frame in reader.frames() if frame.kind == "step"]
        return sum(column.shape[0] for column in steps if column is not None and column.shape)


def _how(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"signal {-code}"


def _say(text: str) -> None:
    print(f"tensorscope: {text}", file=sys.stderr, flush=True)
