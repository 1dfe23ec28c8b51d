"""The agent's one thread: carries frames from the outbox to the window and into the session file."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

from tensorscope.agent import commands
from tensorscope.agent.client import Client
from tensorscope.agent.listener import Listener, peer_uid
from tensorscope.agent.outbox import Numbered, Outbox
from tensorscope.agent.recorder import Recorder
from tensorscope.core.errors import TensorScopeError
from tensorscope.core.wire import Frame

if TYPE_CHECKING:
    from tensorscope.agent.runtime import Agent

THREAD_NAME = "tensorscope-agent"
_WAKE_SECONDS = 0.05
"""How often at most the training thread wakes this one: each time may cost it a wait for the GIL."""
_TICK_SECONDS = 0.25
_IDLE_SECONDS = 1.0
_GOODBYE_SECONDS = 2.0
_MAX_STRANGERS = 4
_OPEN_STREAM = "open stream"


class Courier:
    """Owns the sockets and the file. `start`, `stop` and the properties may be used from other threads."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._outbox: Outbox = agent.outbox
        self.listener: Listener | None = None
        self.client_number = 0
        """How many windows have been let in; the training thread compares it."""
        self._client: Client | None = None
        self._strangers: list[Client] = []
        self._recorder: Recorder | None = None
        self._notices: list[Numbered] = []
        self._dropped_before = [0, 0]
        self._wake: tuple[socket.socket, socket.socket] | None = None
        self._thread: threading.Thread | None = None
        self._stopping = ""
        self._ready = threading.Event()
        self._problem: TensorScopeError | None = None
        self._beat = 0.0
        self._woken = 0.0

    # Other threads ---------------------------------------------------------------------------

    @property
    def has_sink(self) -> bool:
        """Whether anybody listens."""
        return self._client is not None or self._recorder is not None

    @property
    def has_client(self) -> bool:
        """Whether a window is attached."""
        return self._client is not None

    @property
    def address(self) -> str:
        """Where the agent listens; empty if nowhere."""
        return str(self.listener.address) if self.listener else ""

    def start(self) -> None:
        """Listen, open the file and start the thread; raises `TensorScopeError`."""
        options = self._agent.options
        if options.address != "none":
            self.listener = Listener(options.address)
        self._wake = socket.socketpair()
        for end in self._wake:
            end.setblocking(False)
        self._thread = threading.Thread(target=self._run, name=THREAD_NAME, daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._problem is not None:
            self._thread.join()
            raise self._problem

    def stop(self, reason: str, patience_seconds: float) -> None:
        """Have the thread send what waits, say goodbye and end; wait for that for a while."""
        self._stopping = reason or "Detached."
        self._rouse()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=patience_seconds)

    def wake(self) -> None:
        """Have what waits carried off, unless that was done a moment ago. Training thread."""
        now = time.monotonic()
        if now - self._woken >= _WAKE_SECONDS:
            self._woken = now
            self._rouse()

    def forget(self) -> None:
        """In a forked child: close what was inherited. There is no thread here."""
        for client in [self._client, *self._strangers]:
            if client is not None:
                client.close()
        if self.listener is not None:
            self.listener.socket.close()
        for end in self._wake or ():
            end.close()
        if self._recorder is not None:
            self._recorder.forget()
        self._client, self._recorder, self._thread = None, None, None

    def open_stream(self, outbox: Outbox) -> None:
        """Let the new window see everything from here on. Training thread, at a boundary."""
        outbox.put(Frame(_OPEN_STREAM, meta={"client": self.client_number}), must=True)

    def say_hello(self) -> None:
        """Say again what is captured, because it has changed. Training thread."""
        self._outbox.put(self._agent.hello(), must=True)

    def wants_resync(self) -> bool:
        """Whether frames were dropped and there is room again for what later ones build on."""
        outbox, client = self._outbox, self._client
        sinks = [sink for sink in (outbox, client, self._recorder) if sink is not None and sink.lost_meaning]
        if not sinks or outbox.waiting_bytes * 2 > outbox.bound_bytes:
            return False
        if client in sinks and client is not None and client.queued_bytes * 2 > outbox.bound_bytes:
            return False
        for sink in sinks:
            sink.lost_meaning = False
        return True

    def _rouse(self) -> None:
        if self._wake is not None:
            with contextlib.suppress(OSError):
                self._wake[1].send(b"x")

    # The agent thread ------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            path = self._agent.options.record
            self._recorder = Recorder(path) if path else None
        except TensorScopeError as error:
            self._problem = error
        self._ready.set()
        try:
            if self._problem is None:
                self._loop()
        except Exception as error:  # noqa: BLE001  (a thread of ours must not print into their stderr)
            self._agent.context.notice("error", "agent-thread", f"The agent's thread ended: {error!r}")
        finally:
            self._close()

    def _loop(self) -> None:
        if self._recorder is not None:
            self._recorder.write(self._number(self._agent.hello()), self._agent.interner)
        while not self._stopping:
            self._wait()
            self._deliver()
            self._heartbeat()
            commands.expire(self._agent)
        self._say_goodbye()

    def _wait(self) -> None:
        client = self._client
        peers = [c for c in [client, *self._strangers] if c is not None]
        reading: list[Any] = [peer.socket for peer in peers] + [self._wake[0]] if self._wake else []
        if self.listener is not None:
            reading.append(self.listener.socket)
        writing = [peer.socket for peer in peers if peer.queued_bytes]
        seconds = _TICK_SECONDS if self.has_sink else _IDLE_SECONDS
        ready, _, _ = select.select(reading, writing, [], seconds)
        if self._wake and self._wake[0] in ready:
            with contextlib.suppress(OSError):
                self._wake[0].recv(64)
        for peer in peers:
            if peer.socket in ready:
                self._hear(peer)
            peer.flush()
        self._clear_away()
        # Last, so that a window that has just died does not keep the next one out.
        if self.listener is not None and self.listener.socket in ready:
            self._accept()

    def _accept(self) -> None:
        assert self.listener is not None
        try:
            connection, _ = self.listener.socket.accept()
        except OSError:
            return
        tcp = self.listener.address.is_tcp
        if len(self._strangers) >= _MAX_STRANGERS or (
            not tcp and peer_uid(connection) not in (os.getuid(), 0)
        ):
            connection.close()
            return
        token = (self._agent.options.token or "") if tcp else None
        stranger = Client(connection, token, self._agent.options.outbox_bytes // 2, time.monotonic())
        if stranger.trusted:
            self._let_in(stranger)
        else:
            self._strangers.append(stranger)

    def _let_in(self, client: Client) -> None:
        if self._client is not None:
            meta = {"reason": "Another window is attached to this program. Close it first."}
            client.send(self._number(Frame("bye", meta=meta)), must=True)
            client.flush()
            client.close()
            return
        client.send(self._number(self._agent.hello()), must=True)
        self._send_strings(client)
        for notice in self._notices:
            client.send(notice, must=True)
        client.flush()
        self._client = client
        self.client_number += 1

    def _hear(self, peer: Client) -> None:
        was_trusted = peer.trusted
        frames = peer.receive()
        if not was_trusted and peer.trusted and peer.open:
            self._strangers.remove(peer)
            self._let_in(peer)
        if peer is self._client:
            for frame in frames:
                commands.receive(self._agent, frame)

    def _clear_away(self) -> None:
        now = time.monotonic()
        for stranger in [s for s in self._strangers if not s.open or s.expired(now)]:
            self._strangers.remove(stranger)
            stranger.close()
        if self._client is not None and not self._client.open:
            gone, self._client = self._client, None
            self._dropped_before[0] += gone.dropped_frames
            self._dropped_before[1] += gone.dropped_events
            gone.close()

    def _deliver(self) -> None:
        while (numbered := self._outbox.pop()) is not None:
            self._pass_on(numbered)

    def _pass_on(self, numbered: Numbered) -> None:
        frame, client = numbered.frame, self._client
        if frame.kind == _OPEN_STREAM:
            if client is not None and frame.meta["client"] == self.client_number:
                client.streaming = True
            return
        if frame.kind == "notice":
            self._notices = [*self._notices[-31:], numbered]
        self._record(numbered)
        if client is not None and (client.streaming or frame.kind in ("notice", "reply", "hello")):
            self._send_strings(client)
            client.send(numbered)
            client.flush()

    def _record(self, numbered: Numbered) -> None:
        recorder = self._recorder
        if recorder is None:
            return
        dropped = recorder.dropped_frames
        if not recorder.write(numbered, self._agent.interner):
            self._recorder = None
            self._agent.context.notice("error", "recording-failed", recorder.problem)
        elif recorder.dropped_frames > dropped == 0:
            text = f"A frame ({numbered.frame.kind}) is too large for the session file and was left out."
            self._agent.context.notice("warning", "recording-dropped", text)

    def _send_strings(self, client: Client) -> None:
        frames, client.cursor = self._agent.interner.frames_since(client.cursor)
        for frame in frames:
            client.send(self._number(frame), must=True)

    def _heartbeat(self) -> None:
        now = time.monotonic()
        if now - self._beat < 1.0:
            return
        self._beat = now
        client, outbox = self._client, self._outbox
        frames, events = self._dropped_before
        for sink in (outbox, client, self._recorder):
            if sink is not None:
                frames, events = frames + sink.dropped_frames, events + sink.dropped_events
        meta = {
            "steps": self._agent.context.step,
            "outbox_bytes": outbox.waiting_bytes + (client.queued_bytes if client else 0),
            "dropped_frames": frames,
            "dropped_events": events,
            "agent_cpu_ns": time.thread_time_ns(),
        }
        beat = self._number(Frame("heartbeat", self._agent.context.step, meta=meta))
        if client is not None:
            client.send(beat)
            client.flush()
        self._record(beat)

    def _number(self, frame: Frame) -> Numbered:
        return self._outbox.number(frame)

    def _say_goodbye(self) -> None:
        self._deliver()
        self._beat = 0.0
        self._heartbeat()
        bye = self._number(Frame("bye", self._agent.context.step, meta={"reason": self._stopping}))
        if self._recorder is not None:
            self._recorder.write(bye, self._agent.interner)
        client = self._client
        if client is None:
            return
        client.send(bye, must=True)
        deadline = time.monotonic() + _GOODBYE_SECONDS
        client.flush()
        while client.open and client.queued_bytes and time.monotonic() < deadline:
            select.select([], [client.socket], [], 0.05)
            client.flush()

    def _close(self) -> None:
        for client in [self._client, *self._strangers]:
            if client is not None:
                client.close()
        self._client = None
        self._strangers.clear()
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = None
        if self.listener is not None:
            self.listener.close()
        for end in self._wake or ():
            end.close()
