"""The link against servers that behave, misbehave, and die."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tensorscope.core.errors import LinkError
from tensorscope.core.handshake import NONCE_BYTES, check
from tensorscope.core.wire import Column, Frame, FrameParser, encode
from tensorscope.transport import link as link_module
from tensorscope.transport.link import Link
from tests.support.sample_frames import sample_frames

Handler = Callable[[socket.socket], None]


class Server:
    """Answers one connection with `handle`, in a thread."""

    def __init__(self, path: Path | None, handle: Handler) -> None:
        self.socket = socket.socket(socket.AF_UNIX if path else socket.AF_INET, socket.SOCK_STREAM)
        self.socket.bind(str(path) if path else ("127.0.0.1", 0))
        self.socket.listen(1)
        self.address = f"unix:{path}" if path else f"tcp:127.0.0.1:{self.socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, args=(handle,))
        self._thread.start()

    def _serve(self, handle: Handler) -> None:
        connection, _ = self.socket.accept()
        with connection:
            handle(connection)

    def close(self) -> None:
        self._thread.join(timeout=20)
        assert not self._thread.is_alive()
        self.socket.close()


@pytest.fixture
def serve(short_tmp_path: Path) -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def start(handle: Handler, tcp: bool = False) -> Server:
        servers.append(Server(None if tcp else short_tmp_path / f"{len(servers)}.sock", handle))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def hello() -> bytes:
    return encode(sample_frames(steps=1)[0])


def wait_until(what: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def drain(link: Link) -> list[Frame]:
    frames = []
    while (frame := link.poll()) is not None:
        frames.append(frame)
    return frames


def test_that_frames_arrive_whole_and_in_order(serve: Callable[..., Server]) -> None:
    expected = sample_frames(steps=20)
    data = b"".join(map(encode, [*expected, Frame("bye", meta={"reason": "done"})]))

    def handle(connection: socket.socket) -> None:
        for at in range(0, len(data), 777):
            connection.sendall(data[at : at + 777])

    link = Link(serve(handle).address)
    wait_until(lambda: link.state == "closed")
    assert [encode(frame) for frame in drain(link)[:-1]] == [encode(frame) for frame in expected]
    assert link.problem == "done"
    link.close()


def test_that_commands_reach_the_target_even_when_the_link_is_closed_at_once(
    serve: Callable[..., Server],
) -> None:
    received: list[Frame] = []

    def handle(connection: socket.socket) -> None:
        connection.sendall(hello())
        parser = FrameParser()
        while data := connection.recv(4096):
            received.extend(parser.feed(data))

    server = serve(handle)
    link = Link(server.address)
    link.wait_open()
    for number in range(50):
        link.send(Frame("command", meta={"id": number, "name": "deep", "args": {}}))
    link.close()
    server.close()
    assert [frame.meta["id"] for frame in received] == list(range(50))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", "expected a frame"),
        (b"TSF1" + b"\xff" * 8, "over the bound"),
        (encode(Frame("step")), "did not say hello first"),
        (encode(Frame("hello", meta={"protocol": 99})), "speaks protocol 99"),
        (encode(Frame("hello", meta={})), "speaks protocol None"),
        (encode(Frame("bye", meta={"reason": "Another window is attached."})), "Another window is attached"),
        (b"", "hung up"),
        (hello()[:40], "hung up"),
        (hello() + b"garbage garbage", "expected a frame"),
        (hello(), "killed or crashed"),
    ],
)
def test_that_a_target_that_misbehaves_is_lost_with_the_reason(
    serve: Callable[..., Server], data: bytes, why: str
) -> None:
    link = Link(serve(lambda connection: connection.sendall(data)).address)
    wait_until(lambda: link.state == "lost")
    assert why in link.problem
    assert link.address.path in link.problem or "Another" in why or "frame" in link.problem
    link.close()


def test_that_nobody_there_is_said_with_what_to_do(short_tmp_path: Path) -> None:
    link = Link(f"unix:{short_tmp_path}/none.sock")
    with pytest.raises(LinkError, match=r"Nobody listens at .*tensorscope run"):
        link.wait_open()
    link.close()
    link = Link("999999999")
    with pytest.raises(LinkError, match="Process 999999999 has ended or has no TensorScope agent"):
        link.wait_open()
    link.close()


def test_that_tcp_proves_the_token_without_sending_it(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TENSORSCOPE_TOKEN", raising=False)
    nonce, answers = os.urandom(NONCE_BYTES), []

    def handle(connection: socket.socket) -> None:
        connection.sendall(nonce[:10])
        connection.sendall(nonce[10:])
        answers.append(connection.recv(32))
        connection.sendall(hello())
        connection.recv(1)

    link = Link(serve(handle, tcp=True).address, token="secret")
    link.wait_open()
    link.close()
    assert check("secret", nonce, answers[0])
    assert not check("other", nonce, answers[0])


def test_that_tcp_without_a_token_says_where_to_put_it(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TENSORSCOPE_TOKEN", raising=False)
    link = Link(serve(lambda connection: connection.recv(1), tcp=True).address)
    with pytest.raises(LinkError, match="set TENSORSCOPE_TOKEN"):
        link.wait_open()
    link.close()


def test_that_a_window_that_does_not_poll_holds_a_bounded_part_and_loses_nothing(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "MAX_WAITING_BYTES", 1 << 20)
    big = encode(Frame("blob", columns={"a": Column("u1", (100_000,), bytes(100_000))}))
    sent = []

    def handle(connection: socket.socket) -> None:
        connection.sendall(hello())
        for number in range(200):
            connection.sendall(big)
            sent.append(number)
        connection.sendall(encode(Frame("bye", meta={"reason": "done"})))

    link = Link(serve(handle).address)
    link.wait_open()
    wait_until(lambda: link.is_full)
    time.sleep(0.3)
    held = len(sent)
    assert held < 60
    frames: list[Frame] = []

    def take() -> bool:
        frames.extend(drain(link))
        return link.state == "closed"

    wait_until(take)
    frames.extend(drain(link))
    assert [frame.kind for frame in frames] == ["hello", *["blob"] * 200, "bye"]
    link.close()


def test_that_a_closed_link_leaves_no_thread_and_no_descriptor(serve: Callable[..., Server]) -> None:
    def handle(connection: socket.socket) -> None:
        connection.sendall(hello())
        connection.recv(1)

    server = serve(handle)
    before = len(os.listdir("/proc/self/fd"))
    link = Link(server.address)
    link.wait_open()
    link.close()
    server.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "tensorscope-link"]
    assert len(os.listdir("/proc/self/fd")) <= before
