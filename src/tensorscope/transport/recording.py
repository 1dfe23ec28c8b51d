"""Writes frames into a session file from a thread of its own, so that a slow disk holds nobody up."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable
from pathlib import Path

from tensorscope.core.errors import TensorScopeError
from tensorscope.core.session_writer import SessionWriter
from tensorscope.core.wire import Frame

MAX_WAITING_FRAMES = 4096


class Recording:
    """A session file that is being written.

    Parameters
    ----------
    path
        File to make.
    history
        Frames of the session so far, written first. They must not change any more.

    Raises
    ------
    SessionFileError
        If the file cannot be made.
    """

    def __init__(self, path: str | Path, history: Iterable[Frame] = (), replace: bool = False) -> None:
        self.path = Path(path)
        self.dropped_frames = 0
        self.problem = ""
        """Why writing stopped, for a person; empty while all is well."""
        self._writer = SessionWriter(path, replace=replace)
        self._queue: queue.Queue[Frame | None] = queue.Queue()
        self._history = history
        self._thread = threading.Thread(target=self._run, name="tensorscope-recording", daemon=True)
        self._thread.start()

    def put(self, frame: Frame) -> None:
        """Queue a frame; where the disk cannot keep up, drop and count it. Any thread."""
        if self._queue.qsize() >= MAX_WAITING_FRAMES and frame.kind != "strings":
            self.dropped_frames += 1
        else:
            self._queue.put(frame)

    def close(self) -> None:
        """Write what waits, and close the file."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            for frame in self._history:
                self._writer.write(frame)
            self._history = ()
            while (queued := self._queue.get()) is not None:
                self._writer.write(queued)
        except TensorScopeError as error:
            self.problem = str(error)
        finally:
            self._writer.close()
