"""What waits to be sent. The training thread appends and goes on, whatever the reader does."""

from __future__ import annotations

import itertools
import time
from collections import deque
from typing import NamedTuple

from tensorscope.core.wire import Frame

DEFAULT_BOUND_BYTES = 8 << 20
_FRAME_BYTES = 512
"""About what a frame takes beside its columns."""
_MAX_CONTROL = 256
RESYNC_KINDS = frozenset({"alloc", "baseline"})
"""Kinds whose loss leaves the ones after them without a meaning."""


class Numbered(NamedTuple):
    """A frame with its place in the stream."""

    seq: int
    clock_ns: int
    frame: Frame


def frame_bytes(frame: Frame) -> int:
    """Return about how many bytes of memory `frame` holds."""
    return _FRAME_BYTES + sum(len(column.data) for column in frame.columns.values())


def frame_rows(frame: Frame) -> int:
    """Return how many events `frame` carries."""
    return next((column.shape[0] for column in frame.columns.values() if column.shape), 1)


class Outbox:
    """Byte-bounded queue from the training thread to the agent thread, without a lock.

    `put` in the training thread and `pop` in the agent thread only: each writes its own counter.
    `put_control` takes small frames from any thread, before all others.
    """

    def __init__(self, bound_bytes: int = DEFAULT_BOUND_BYTES) -> None:
        self.bound_bytes = bound_bytes
        self.dropped_frames = 0
        self.dropped_events = 0
        self.lost_meaning = False
        """Whether frames were dropped without which later ones cannot be understood."""
        self._frames: deque[Numbered] = deque()
        self._control: deque[Numbered] = deque(maxlen=_MAX_CONTROL)
        self._put_bytes = 0
        self._popped_bytes = 0
        self._numbers = itertools.count()

    @property
    def waiting_bytes(self) -> int:
        """Bytes that wait now."""
        return max(0, self._put_bytes - self._popped_bytes)

    def put(self, frame: Frame, must: bool = False) -> bool:
        """Queue `frame`, or drop and count it when it does not fit. Returns whether it was kept.

        Small frames without which the stream means nothing `must` be kept.
        """
        numbered = self.number(frame)
        size = frame_bytes(frame)
        if self.waiting_bytes + size > self.bound_bytes and self._frames and not must:
            self.dropped_frames += 1
            self.dropped_events += frame_rows(frame)
            self.lost_meaning = self.lost_meaning or frame.kind in RESYNC_KINDS
            return False
        self._put_bytes += size
        self._frames.append(numbered)
        return True

    def put_control(self, frame: Frame) -> None:
        """Queue a small frame of any thread."""
        self._control.append(self.number(frame))

    def number(self, frame: Frame) -> Numbered:
        """Give `frame` its place in the stream, and the time if it has none. Any thread."""
        return Numbered(next(self._numbers), frame.clock_ns or time.perf_counter_ns(), frame)

    def pop(self) -> Numbered | None:
        """Return the next frame, or None."""
        if self._control:
            return self._control.popleft()
        if not self._frames:
            return None
        numbered = self._frames.popleft()
        self._popped_bytes += frame_bytes(numbered.frame)
        return numbered

    def clear(self) -> None:
        """Forget all that waits (in a forked child)."""
        self._frames.clear()
        self._control.clear()
