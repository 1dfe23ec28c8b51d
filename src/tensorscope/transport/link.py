"""A live connection to the agent in a target."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections import deque

from tensorscope.core.address import Address, parse_address
from tensorscope.core.errors import LinkError, TensorScopeError
from tensorscope.core.handshake import NONCE_BYTES, answer, read_token
from tensorscope.core.wire import PROTOCOL_VERSION, Frame, FrameParser, encode

MAX_WAITING_BYTES = 64 << 20
_RECEIVE_BYTES = 1 << 18
_HELLO_SECONDS = 10.0


class Link:
    """Connects in a thread of its own, which then reads and writes; `models.FrameSource`.

    When nobody polls, at most about `MAX_WAITING_BYTES` are read ahead; then the socket is left full,
    and the agent drops what does not fit and counts it.

    Parameters
    ----------
    address
        As `parse_address` takes it; a wrong one raises `LinkError` here.
    token
        For TCP; where None, that of the environment.
    """

    def __init__(self, address: str, token: str | None = None) -> None:
        self.address: Address = parse_address(address)
        self.state = "connecting"
        self.problem = ""
        self._name = address
        self._token = token
        self._frames: deque[tuple[Frame, int]] = deque()
        self._waiting_bytes = 0
        self._outgoing: deque[bytes] = deque()
        self._lock = threading.Lock()
        self._closing = False
        self._wake = socket.socketpair()
        for end in self._wake:
            end.setblocking(False)
        self._thread = threading.Thread(target=self._run, name="tensorscope-link", daemon=True)
        self._thread.start()

    def poll(self) -> Frame | None:
        """Return the next frame, or None at once if there is none."""
        try:
            frame, size_bytes = self._frames.popleft()
        except IndexError:
            return None
        with self._lock:
            was_full = self.is_full
            self._waiting_bytes -= size_bytes
        if was_full:
            self._stir()
        return frame

    def send(self, frame: Frame) -> None:
        """Queue a frame for the target; never blocks. Any thread."""
        self._outgoing.append(encode(frame))
        self._stir()

    def close(self) -> None:
        """Hang up; the target goes on. Frames that were received can still be polled."""
        self._closing = True
        self._stir()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=5)

    @property
    def is_full(self) -> bool:
        """Whether nothing more is read until somebody polls."""
        return self._waiting_bytes >= MAX_WAITING_BYTES

    def wait_open(self, timeout_seconds: float = _HELLO_SECONDS) -> None:
        """Wait until the target has said hello.

        Raises
        ------
        LinkError
            If it does not, with the reason.
        """
        deadline = time.monotonic() + timeout_seconds
        while self.state == "connecting" and time.monotonic() < deadline:
            time.sleep(0.005)
        if self.state == "connecting":
            raise LinkError(f"{self._name} did not answer within {timeout_seconds:.0f} s.")
        if self.problem and not self._frames:
            raise LinkError(self.problem)

    def _stir(self) -> None:
        with contextlib.suppress(OSError):
            self._wake[1].send(b"x")

    def _run(self) -> None:
        connection: socket.socket | None = None
        try:
            connection = self._connect()
            self._exchange(connection)
        except TensorScopeError as error:
            self._end("lost", str(error))
        except OSError as error:
            self._end("lost", f"The connection to {self._name} broke: {error.strerror or error}.")
        except Exception as error:  # noqa: BLE001  (whatever a target sends must not end in a traceback)
            self._end("lost", f"The connection to {self._name} ended: {error!r}.")
        finally:
            for end in (connection, *self._wake):
                if end is not None:
                    end.close()

    def _end(self, state: str, problem: str = "") -> None:
        if self.state in ("connecting", "open"):
            self.problem = problem
            self.state = state

    def _connect(self) -> socket.socket:
        family = socket.AF_INET if self.address.is_tcp else socket.AF_UNIX
        connection = socket.socket(family, socket.SOCK_STREAM)
        connection.settimeout(_HELLO_SECONDS)
        try:
            connection.connect(("127.0.0.1", self.address.port) if self.address.is_tcp else self.address.path)
            if self.address.is_tcp:
                self._prove(connection)
        except TimeoutError:
            connection.close()
            raise LinkError(f"{self._name} did not answer within {_HELLO_SECONDS:.0f} s.") from None
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            raise LinkError(self._nobody_there()) from None
        except (OSError, LinkError):
            connection.close()
            raise
        return connection

    def _nobody_there(self) -> str:
        start = "start the program with: tensorscope run SCRIPT"
        if self._name.strip().isdecimal():
            return f"Process {self._name} has ended or has no TensorScope agent in it: {start}."
        return f"Nobody listens at {self._name}: the program has ended, or {start}."

    def _prove(self, connection: socket.socket) -> None:
        token = self._token or read_token()
        if not token:
            raise LinkError(f"{self._name} asks for a token: set TENSORSCOPE_TOKEN to that of the program.")
        nonce = b""
        while len(nonce) < NONCE_BYTES:
            data = connection.recv(NONCE_BYTES - len(nonce))
            if not data:
                raise LinkError(f"{self._name} hung up before it said anything: it is no TensorScope agent.")
            nonce += data
        connection.sendall(answer(token, nonce))

    def _exchange(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        parser = FrameParser()
        deadline = time.monotonic() + _HELLO_SECONDS
        rest = b""
        while not self._closing:
            if self.state == "connecting" and time.monotonic() > deadline:
                raise LinkError(f"{self._name} did not say hello within {_HELLO_SECONDS:.0f} s.")
            reading = not self.is_full
            rest = rest or (self._outgoing.popleft() if self._outgoing else b"")
            sources = [self._wake[0], *([connection] if reading else [])]
            readable, writable, _ = select.select(sources, [connection] if rest else [], [], 0.2)
            if self._wake[0] in readable:
                self._wake[0].recv(4096)
            if writable:
                rest = rest[connection.send(rest) :]
            if connection in readable and not self._read(connection, parser):
                return
        self._flush(connection, rest)
        self._end("closed")

    def _flush(self, connection: socket.socket, rest: bytes) -> None:
        """Send what still waits, so that a last command arrives; give up after a second."""
        connection.settimeout(1.0)
        with contextlib.suppress(OSError):
            connection.sendall(rest + b"".join(self._outgoing))

    def _read(self, connection: socket.socket, parser: FrameParser) -> bool:
        try:
            data = connection.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return True
        if not data:
            raise LinkError(self._hung_up())
        for frame in parser.feed(data):
            if self.state == "connecting" and not self._greet(frame):
                return False
            size_bytes = 256 + sum(len(column.data) for column in frame.columns.values())
            with self._lock:
                self._waiting_bytes += size_bytes
            self._frames.append((frame, size_bytes))
            if frame.kind == "bye":
                self._end("closed", str(frame.meta.get("reason", ""))[:1000])
                return False
        return True

    def _hung_up(self) -> str:
        if self.state == "connecting" and self.address.is_tcp:
            return f"{self._name} hung up: the token is wrong, or it is no TensorScope agent."
        return f"{self._name} hung up without a goodbye: the program was killed or crashed."

    def _greet(self, frame: Frame) -> bool:
        """Take the first frame; False if the target does not want us."""
        if frame.kind == "bye":
            self._end("lost", str(frame.meta.get("reason", "The target refused."))[:1000])
            return False
        if frame.kind != "hello":
            raise LinkError(f"{self._name} did not say hello first: it is no TensorScope agent.")
        version = frame.meta.get("protocol")
        if version != PROTOCOL_VERSION:
            raise LinkError(
                f"{self._name} speaks protocol {version!r}, this window {PROTOCOL_VERSION}: "
                "use the same TensorScope version on both sides."
            )
        self.state = "open"
        return True
