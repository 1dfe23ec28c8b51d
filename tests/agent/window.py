"""A minimal window: connects to an agent and keeps every frame, with plain sockets."""

from __future__ import annotations

import contextlib
import socket
import time
from array import array
from collections.abc import Callable

from tensorscope.core.address import parse_address
from tensorscope.core.handshake import ANSWER_BYTES, NONCE_BYTES, answer
from tensorscope.core.wire import ARRAY_CODES, Frame, FrameParser, encode


class Window:
    def __init__(self, address: str, token: str | None = None) -> None:
        where = parse_address(address)
        if where.is_tcp:
            self.socket = socket.create_connection(("127.0.0.1", where.port))
            if token is not None:
                nonce = b""
                while len(nonce) < NONCE_BYTES:
                    nonce += self.socket.recv(NONCE_BYTES - len(nonce))
                self.socket.sendall(answer(token, nonce))
                assert len(answer(token, nonce)) == ANSWER_BYTES
        else:
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.socket.connect(where.path)
        self.socket.settimeout(0.2)
        self.frames: list[Frame] = []
        self.closed = False
        self._parser = FrameParser()
        self._next_id = 1

    def pump(self) -> None:
        try:
            data = self.socket.recv(1 << 20)
        except TimeoutError:
            return
        except OSError:
            data = b""
        if not data:
            self.closed = True
            return
        self.frames.extend(self._parser.feed(data))

    def wait(self, what: Callable[[], object], seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while not what():
            assert time.monotonic() < deadline, f"never came; have {[f.kind for f in self.frames][-20:]}"
            if self.closed and not what():
                raise AssertionError(f"hung up; have {[f.kind for f in self.frames][-20:]}")
            self.pump()

    def of(self, kind: str) -> list[Frame]:
        return [frame for frame in self.frames if frame.kind == kind]

    def column(self, kind: str, name: str) -> list[float]:
        values: list[float] = []
        for frame in self.of(kind):
            column = frame.columns[name]
            data = array(ARRAY_CODES[column.dtype])
            data.frombytes(bytes(column.data))
            values += data.tolist()
        return values

    def strings(self) -> list[str]:
        texts = [""]
        for frame in self.of("strings"):
            assert frame.meta["first"] == len(texts)
            texts += frame.meta["values"]
        return texts

    def command(self, name: str, /, **args: object) -> Frame:
        """Send a command and return its reply."""
        number, self._next_id = self._next_id, self._next_id + 1
        self.socket.sendall(encode(Frame("command", meta={"id": number, "name": name, "args": args})))

        def found() -> list[Frame]:
            return [frame for frame in self.of("reply") if frame.meta["id"] == number]

        self.wait(found)
        return found()[0]

    def __enter__(self) -> Window:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.close()
