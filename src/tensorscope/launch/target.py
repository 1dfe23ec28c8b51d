"""Starts a script as a target: an unmodified program with the agent in it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tensorscope.core.errors import LaunchError

_BOOTSTRAP = Path(__file__).resolve().parent.parent / "agent" / "bootstrap.py"
_TAIL_LINES = 20
_GRACE_SECONDS = 8.0


@dataclass(frozen=True)
class TargetOptions:
    """How a script is to be started.

    Attributes
    ----------
    argv
        The script (or, with `module`, a module's name) and its arguments.
    python
        Interpreter to run it with; it needs torch and nothing of ours.
    record
        Session file that the agent writes itself, or None.
    steps
        Stop the script after this many steps; 0 for never.
    address
        Where the agent listens: ``""`` for its default socket, ``none``, or an address.
    deep_every, gradients
        See `tensorscope.agent.options.Options`.
    quiet
        Keep the script's own output to ourselves (only its tail is kept, for messages).
    outlives_window
        Closing the window leaves the program running: it is somebody's, not our demo.
    """

    argv: Sequence[str]
    module: bool = False
    python: str = sys.executable
    record: Path | None = None
    steps: int = 0
    level: str = "scope"
    deep_every: int = 0
    gradients: bool = False
    address: str = ""
    token_file: Path | None = None
    quiet: bool = False
    outlives_window: bool = False
    environment: dict[str, str] = field(default_factory=dict)


class Target:
    """A process that we started. Its script's exit code is ours to report, its output goes where ours goes.

    Raises
    ------
    LaunchError
        From `start`, if the interpreter or the script does not exist; from `wait_ready`, if the
        program ended or never imported torch.
    """

    def __init__(self, process: subprocess.Popen[str], ready: IO[str], options: TargetOptions) -> None:
        self.process = process
        self.name = options.argv[0]
        self.outlives_window = options.outlives_window
        self._python = options.python
        self.address = ""
        self._ready = ready
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._readers = [
            threading.Thread(target=self._keep_tail, args=(stream,), daemon=True)
            for stream in (process.stdout, process.stderr)
            if stream is not None
        ]
        for reader in self._readers:
            reader.start()

    @classmethod
    def start(cls, options: TargetOptions) -> Target:
        """Start the script and return at once."""
        _check_script(options)
        read_end, write_end = os.pipe()
        command = [options.python, str(_BOOTSTRAP), "--ready-fd", str(write_end), *_agent_arguments(options)]
        output, input_ = (subprocess.PIPE, subprocess.DEVNULL) if options.quiet else (None, None)
        try:
            process = subprocess.Popen(
                command, pass_fds=(write_end,), stdin=input_, stdout=output, stderr=output,
                env={**os.environ, **options.environment}, text=True, errors="replace",
                start_new_session=options.quiet,
            )  # fmt: skip
        except OSError as error:
            os.close(read_end)
            raise LaunchError(f"Cannot start {options.python}: {error.strerror}.") from None
        finally:
            os.close(write_end)
        return cls(process, os.fdopen(read_end, encoding="utf-8", errors="replace"), options)

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self.process.poll()

    def wait_ready(self, timeout_seconds: float = 120.0) -> str:
        """Wait until the agent listens, and return its address."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            readable, _, _ = select.select([self._ready], [], [], 0.1)
            if readable:
                break
            if time.monotonic() > deadline:
                raise LaunchError(f"{self.name} has not imported torch within {timeout_seconds:.0f} s.")
        line = self._ready.readline().strip()
        self._ready.close()
        if line.startswith("error "):
            self.process.wait()
            raise LaunchError(line.removeprefix("error "))
        if not line:
            raise LaunchError(self._why_not_ready())
        self.address = line
        return line

    def wait_after_interrupt(self) -> int:
        """Wait for a program that got the same Ctrl-C as we did: a second one would spoil its clean-up."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_GRACE_SECONDS)
        return self.stop()

    def stop(self) -> int:
        """Ask the program to end as Ctrl-C would, insist after a while, and return its exit code."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    self.process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_GRACE_SECONDS)
                break
        self._ready.close()
        return self.process.wait()

    def output_tail(self) -> str:
        """Return the last lines the program printed, if it was started `quiet`."""
        for reader in self._readers:
            reader.join(timeout=1)
        return "\n".join(self._tail)

    def _keep_tail(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                self._tail.append(line.rstrip()[:500])

    def _why_not_ready(self) -> str:
        code = self.process.wait()
        tail = self.output_tail()
        if code == 0:
            return f"{self.name} ended without importing torch: there was nothing to look at."
        if not _has_torch(self._python):
            install = "pip install 'tensorscope-desktop[torch]'"
            return (
                f"{self.name} needs PyTorch, and {self._python} has none: {install}, or name one by --python."
            )
        said = f" It said:\n{tail}" if tail else ""
        return f"{self.name} ended with exit code {code} before its first training step.{said}"


def _check_script(options: TargetOptions) -> None:
    if not options.argv:
        raise LaunchError("Name a script to run.")
    if not options.module and not Path(options.argv[0]).is_file():
        raise LaunchError(f"There is no script {options.argv[0]}.")


def _has_torch(python: str) -> bool:
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    return subprocess.run([python, "-c", code], check=False, stdin=subprocess.DEVNULL).returncode == 0


def _agent_arguments(options: TargetOptions) -> list[str]:
    arguments = ["--level", options.level]
    if options.address:
        arguments += ["--address", options.address]
    if options.record is not None:
        arguments += ["--record", str(options.record)]
    if options.steps:
        arguments += ["--steps", str(options.steps)]
    if options.deep_every:
        arguments += ["--deep-every", str(options.deep_every)]
    if options.gradients:
        arguments.append("--gradients")
    if options.token_file is not None:
        arguments += ["--token-file", str(options.token_file)]
    if options.module:
        arguments.append("-m")
    return [*arguments, *options.argv]
