"""One window that is connected, as the agent sees it. Agent thread only; nothing here blocks."""

from __future__ import annotations

import socket
from collections import deque

from tensorscope.agent.outbox import RESYNC_KINDS, Numbered, frame_rows
from tensorscope.core.errors import ProtocolError
from tensorscope.core.handshake import ANSWER_BYTES, check, new_nonce
from tensorscope.core.wire import Frame, FrameParser, encode

_RECEIVE_BYTES = 1 << 16
_AUTHENTICATION_SECONDS = 10.0


class Client:
    """A non-blocking connection with a byte-bounded queue of whole frames.

    Parameters
    ----------
    connection
        Accepted socket.
    token
        What a TCP client must prove to know; None for a unix socket, whose peer is checked already.
    bound_bytes
        How much may wait here before frames are dropped.
    now
        Monotonic seconds.
    """

    def __init__(self, connection: socket.socket, token: str | None, bound_bytes: int, now: float) -> None:
        connection.setblocking(False)
        self.socket = connection
        self.streaming = False
        """Whether the stream was opened for it at a step boundary."""
        self.cursor = 1
        """First string that it does not know yet."""
        self.open = True
        self.lost_meaning = False
        """Whether frames were dropped without which later ones cannot be understood."""
        self.dropped_frames = 0
        self.dropped_events = 0
        self._token = token
        self._nonce = new_nonce() if token is not None else b""
        self._deadline = now + _AUTHENTICATION_SECONDS
        self._bound_bytes = bound_bytes
        self._queue: deque[bytes | memoryview] = deque()
        self._queued_bytes = 0
        self._answer = b""
        self._parser = FrameParser()
        if self._nonce:
            self._append(self._nonce)

    @property
    def trusted(self) -> bool:
        """Whether frames may be exchanged."""
        return not self._nonce

    @property
    def queued_bytes(self) -> int:
        """Bytes that wait for the other end to read."""
        return self._queued_bytes

    def send(self, numbered: Numbered, must: bool = False) -> None:
        """Queue a frame; drop and count it where it does not fit, unless it `must` be kept."""
        frame = numbered.frame
        if self._queued_bytes > self._bound_bytes and not must:
            self._drop(frame)
            return
        clock_ns, seq = numbered.clock_ns, numbered.seq
        try:
            self._append(encode(Frame(frame.kind, frame.step, clock_ns, seq, frame.meta, frame.columns)))
        except (ProtocolError, ValueError, TypeError):
            self._drop(frame)

    def flush(self) -> None:
        """Hand the operating system what it takes."""
        while self._queue and self.open:
            data = self._queue[0]
            try:
                sent = self.socket.send(data)
            except BlockingIOError:
                return
            except OSError:
                self.open = False
                return
            self._queued_bytes -= sent
            if sent == len(data):
                self._queue.popleft()
            else:
                self._queue[0] = memoryview(data)[sent:]

    def receive(self) -> list[Frame]:
        """Return the frames that have come. A peer that talks nonsense is hung up on."""
        try:
            data = self.socket.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            self.open = False
            return []
        if self._nonce:
            data = self._authenticate(data)
        try:
            return list(self._parser.feed(data))
        except ProtocolError:
            self.open = False
            return []

    def expired(self, now: float) -> bool:
        """Whether it has had time enough to prove that it knows the token."""
        return not self.trusted and now > self._deadline

    def close(self) -> None:
        """Hang up."""
        self.open = False
        self.socket.close()

    def _authenticate(self, data: bytes) -> bytes:
        self._answer += data
        if len(self._answer) < ANSWER_BYTES:
            return b""
        given, rest = self._answer[:ANSWER_BYTES], self._answer[ANSWER_BYTES:]
        self._answer = b""
        if self._token is None or not check(self._token, self._nonce, given):
            self.open = False
            return b""
        self._nonce = b""
        return rest

    def _append(self, data: bytes) -> None:
        self._queue.append(data)
        self._queued_bytes += len(data)

    def _drop(self, frame: Frame) -> None:
        self.dropped_frames += 1
        self.dropped_events += frame_rows(frame)
        self.lost_meaning = self.lost_meaning or frame.kind in RESYNC_KINDS
