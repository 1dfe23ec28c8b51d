"""Runs somebody's script as plain Python would, with an agent that starts once it imports torch."""

from __future__ import annotations

import argparse
import contextlib
import importlib.machinery
import os
import runpy
import sys
import types
from collections.abc import Sequence

from tensorscope.agent.after_torch import after_torch
from tensorscope.core.errors import TensorScopeError
from tensorscope.core.handshake import read_token

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def main(argv: Sequence[str]) -> None:
    """Parse `argv`, run the script, and leave its exit code and its errors as they are."""
    arguments = _parser().parse_args(argv)
    rest = [part for part in arguments.rest if arguments.rest]
    if not rest:
        _parser().error("name a script, or a module after -m")
    if arguments.record:
        arguments.record = os.path.abspath(arguments.record)  # the script may go elsewhere
    announce = _Announcer(arguments.ready_fd)
    after_torch(lambda: _start_agent(arguments, announce))
    _show_only_their_frames()
    try:
        _run_module(rest) if arguments.m else _run_path(rest)
    finally:
        announce.close()
        watch = sys.modules.get("tensorscope.agent.watch")
        if watch is not None:
            watch.stop("The program has ended.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tensorscope-agent", description=__doc__)
    parser.add_argument("--address", default="", help="unix:/path, tcp:127.0.0.1:0, or none")
    parser.add_argument("--record", default="", metavar="FILE", help="write a session file")
    parser.add_argument("--steps", type=int, default=0, metavar="N", help="stop after N steps")
    parser.add_argument("--level", choices=("pulse", "scope"), default="scope")
    parser.add_argument("--no-deep-first", dest="deep_first", action="store_false")
    parser.add_argument("--deep-every", type=int, default=0, metavar="N")
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--token-file", default=None, help="what TCP clients must know")
    parser.add_argument("--ready-fd", type=int, default=-1, help="write the address there once listening")
    parser.add_argument("-m", action="store_true", help="what follows is a module, not a file")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="SCRIPT ARGS")
    return parser


class _Announcer:
    """Tells the launcher where we listen, in one line, or by closing that there will be nothing."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._pipe = _identity(descriptor)
        if descriptor >= 0:
            os.set_inheritable(descriptor, False)

    def say(self, text: str) -> None:
        """Write one line and close."""
        if self._is_ours():
            with contextlib.suppress(OSError):  # the launcher may be gone: the program goes on
                os.write(self._descriptor, text.encode() + b"\n")
        self.close()

    def close(self) -> None:
        """Close, if it is open."""
        if self._is_ours():
            os.close(self._descriptor)
        self._descriptor = -1

    def _is_ours(self) -> bool:
        """Whether the program has not closed it, and perhaps opened something else by that number."""
        return self._descriptor >= 0 and _identity(self._descriptor) == self._pipe


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _start_agent(arguments: argparse.Namespace, announce: _Announcer) -> None:
    from tensorscope.agent.options import Options
    from tensorscope.agent.watch import start

    try:
        options = Options(
            address=arguments.address, record=arguments.record, steps=arguments.steps, level=arguments.level,
            deep_first=arguments.deep_first, deep_every=arguments.deep_every, gradients=arguments.gradients,
            stop_script=arguments.steps > 0,
            token=read_token(arguments.token_file),
        )  # fmt: skip
        agent = start(options, at_rest=True)
    except TensorScopeError as error:
        announce.say(f"error {error}")
        sys.stderr.write(f"tensorscope: {error}\n")
        raise SystemExit(1) from None
    announce.say(agent.courier.address or "none")


def _run_path(rest: list[str]) -> None:
    script = rest[0]
    try:
        with open(script, "rb") as file:
            source = file.read()
    except OSError as error:
        reason = f"[Errno {error.errno}] {error.strerror}"
        sys.stderr.write(f"{sys.executable}: can't open file {os.path.abspath(script)!r}: {reason}\n")
        raise SystemExit(2) from None
    path = os.path.abspath(script)
    module = _new_main(rest, os.path.dirname(os.path.realpath(path)))
    module.__file__ = path
    module.__dict__["__cached__"] = None
    module.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    # The script has future statements of its own, and none of ours.
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)


def _run_module(rest: list[str]) -> None:
    _new_main(rest, os.getcwd())
    runpy._run_module_as_main(rest[0])  # type: ignore[attr-defined]


def _new_main(rest: list[str], first_path: str) -> types.ModuleType:
    sys.argv[:] = rest
    if sys.path and os.path.abspath(sys.path[0]) + os.sep == os.path.join(_OURS, "agent", ""):
        sys.path[0] = first_path
    elif not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, first_path)
    module = types.ModuleType("__main__")
    module.__dict__.update({"__builtins__": __builtins__, "__annotations__": {}})
    sys.modules["__main__"] = module
    return module


def _show_only_their_frames() -> None:
    """Have uncaught errors printed as plain Python prints them, by whoever prints them."""
    from tensorscope.agent.traceback_filter import install

    install(_OURS)
