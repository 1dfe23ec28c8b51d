"""Reads a foreign file through a process of its own, which can be given up at any moment."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Self

from tensorscope.core.errors import ProtocolError, ReaderError
from tensorscope.core.wire import Frame, FrameParser

Choose = Callable[[dict[str, Any]], tuple[str, str] | None]
_PACKAGE_PARENT = Path(__file__).resolve().parents[2]
_READ_BYTES = 1 << 20
_WAIT_SECONDS = 0.1


class ForeignReader:
    """A foreign file that is being read. One thread at a time; a context manager that ends the process.

    Attributes
    ----------
    read_bytes, total_bytes
        How far the process is in the file; grows while `frames` runs.

    Parameters
    ----------
    wanted
        ``("--events", "A:B")`` or ``("--steps", "A:B")``.
    choose
        Asked, in a thread of its own, what to take of a large file: given its summary it returns
        ("events" or "steps", "A:B"), or None for all of it.
    """

    def __init__(self, path: Path, wanted: Sequence[str] = (), choose: Choose | None = None) -> None:
        self.path = path
        self._choose = choose
        self.read_bytes = 0
        try:
            self.total_bytes = path.stat().st_size
        except OSError as error:
            raise ReaderError(f"{path} cannot be read: {error.strerror or error}.") from None
        self._error = ""
        command = [sys.executable, "-s", "-m", "tensorscope.readers", str(path), *wanted]
        self._process = subprocess.Popen(
            [*command, *(["--ask"] if choose else [])],
            stdin=subprocess.PIPE if choose else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_environment(),
        )  # fmt: skip
        with contextlib.suppress(OSError):  # as much as a person may have; fewer, larger reads
            fcntl.fcntl(_pipe(self._process.stdout).fileno(), fcntl.F_SETPIPE_SZ, _READ_BYTES)
        self._listener = threading.Thread(target=self._listen, name="tensorscope-reader", daemon=True)
        self._listener.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def frames(self, waiting: Callable[[], bool] = lambda: True) -> Iterator[Frame]:
        """Yield the frames of the file.

        Parameters
        ----------
        waiting
            Called several times a second; where it returns False, reading ends.

        Raises
        ------
        ReaderError
            If the file cannot be understood, with what is wrong with it.
        """
        parser, output = FrameParser(), _pipe(self._process.stdout)
        while waiting():
            if not select.select([output], [], [], _WAIT_SECONDS)[0]:
                continue
            data = os.read(output.fileno(), _READ_BYTES)
            if not data:
                self._finish(parser)
                return
            try:
                yield from parser.feed(data)
            except ProtocolError as error:
                raise self._failure(f"its reader failed ({error}).") from None

    def close(self) -> None:
        """End the process, if it still runs."""
        self._process.kill()
        self._process.wait()
        self._listener.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _finish(self, parser: FrameParser) -> None:
        code = self._process.wait()
        self._listener.join()
        if code or parser.pending_bytes:
            ended = f"its reader ended with signal {-code}" if code < 0 else f"its reader ended with {code}"
            raise self._failure(self._error or f"{ended}: the file is damaged, or hostile.")

    def _failure(self, reason: str) -> ReaderError:
        return ReaderError(f"{self.path} cannot be read: {reason}")

    def _listen(self) -> None:
        for line in _pipe(self._process.stderr):
            said = _json(line)
            if isinstance(said.get("read"), int):
                self.read_bytes = said["read"]
            if isinstance(said.get("error"), str):
                self._error = said["error"]
            if isinstance(said.get("choose"), dict) and self._choose is not None:
                self._answer(self._choose(said["choose"]))

    def _answer(self, chosen: tuple[str, str] | None) -> None:
        answer = {} if chosen is None else {"kind": chosen[0], "range": chosen[1]}
        with contextlib.suppress(OSError, ValueError):  # given up meanwhile
            pipe = _pipe(self._process.stdin)
            pipe.write(json.dumps(answer).encode() + b"\n")
            pipe.flush()


def _json(line: bytes) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except ValueError:
        return {}  # a warning of the interpreter
    return said if isinstance(said, dict) else {}


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _environment() -> dict[str, str]:
    """Return our environment, in which the child finds this very package."""
    paths = [str(_PACKAGE_PARENT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
