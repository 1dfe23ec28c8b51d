"""The session file that the agent writes itself. Agent thread only."""

from __future__ import annotations

from typing import Any

from tensorscope.agent.interner import Interner
from tensorscope.agent.outbox import RESYNC_KINDS, Numbered, frame_rows
from tensorscope.core.errors import ProtocolError, SessionFileError
from tensorscope.core.wire import Frame


class Recorder:
    """A second sink beside the window, with its own place in the table of strings."""

    def __init__(self, path: str) -> None:
        from tensorscope.core.session_writer import SessionWriter

        self.problem = ""
        self.dropped_frames = 0
        self.dropped_events = 0
        self.lost_meaning = False
        """Whether frames were dropped without which later ones cannot be understood."""
        self._cursor = 1
        self._writer: Any = SessionWriter(path)

    def write(self, numbered: Numbered, interner: Interner) -> bool:
        """Write a frame and the strings it may need; False once the file has failed.

        A frame that no file can hold is dropped and counted, and the recording goes on.
        """
        if self._writer is None:
            return False
        frame = numbered.frame
        try:
            strings, self._cursor = interner.frames_since(self._cursor)
            for words in strings:
                self._writer.write(words)
            clock_ns, seq = numbered.clock_ns, numbered.seq
            self._writer.write(Frame(frame.kind, frame.step, clock_ns, seq, frame.meta, frame.columns))
        except ProtocolError:
            self.dropped_frames += 1
            self.dropped_events += frame_rows(frame)
            self.lost_meaning = self.lost_meaning or frame.kind in RESYNC_KINDS
        except (SessionFileError, OSError) as error:
            self.problem = str(error)
            self.close()
            return False
        return True

    def close(self) -> None:
        """Finish the file."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def forget(self) -> None:
        """In a forked child: the file is the parent's, so nothing may be written or closed properly."""
        self._writer = None
