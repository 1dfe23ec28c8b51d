"""The agent in one process: what it leaves behind, what it survives."""

from __future__ import annotations

import os
import random
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.modules import module as module_hooks
from torch.optim import optimizer as optimizer_hooks
from torch.utils.checkpoint import checkpoint

import tensorscope
from tensorscope.agent import captures
from tensorscope.agent.capture.backward_call import BackwardCall
from tensorscope.agent.capture.capture import Capture
from tensorscope.agent.courier import THREAD_NAME
from tensorscope.agent.interner import Interner
from tensorscope.agent.options import Options
from tensorscope.agent.runtime import Agent
from tensorscope.agent.watch import current, start
from tensorscope.core.schema import PHASES
from tensorscope.core.wire import MAX_HEADER_BYTES, Frame, FrameParser, encode
from tensorscope.transport.session_reader import read_session
from tests.agent.window import Window

Train = Callable[[int], None]


def traces() -> dict[str, Any]:
    """Everything that an agent may have left."""
    return {
        "forward": len(module_hooks._global_forward_hooks),
        "forward_pre": len(module_hooks._global_forward_pre_hooks),
        "always": len(module_hooks._global_forward_hooks_always_called),
        "step_pre": len(optimizer_hooks._global_optimizer_pre_hooks),
        "step_post": len(optimizer_hooks._global_optimizer_post_hooks),
        "engine": torch.autograd._engine_run_backward,
        "compile": torch.compile,
        "profiler": torch.autograd.profiler._enable_profiler,
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "files": sorted(os.listdir("/proc/self/fd")),
        "rng": torch.get_rng_state().tolist(),
        "random": random.getstate(),
    }


def attach(agent: Agent) -> Window:
    window = Window(agent.courier.address)
    window.wait(lambda: agent.courier.has_sink)
    return window


def test_that_nothing_is_left_after_detach(tmp_path: Path, train: Train) -> None:
    train(1)
    with tensorscope.watch(address=f"unix:{tmp_path}/a.sock"):  # loads what is loaded once only
        train(1)
    before = traces()
    agent = start(Options(address=f"unix:{tmp_path}/a.sock"))
    with attach(agent) as window:
        train(4)
        assert len(module_hooks._global_forward_hooks) == 1
        assert THREAD_NAME in traces()["threads"]
        agent.detach("enough")
        window.wait(lambda: window.of("bye"))
    assert traces() == before
    assert os.listdir(tmp_path) == []
    assert current() is None


def test_that_a_window_that_leaves_takes_the_cost_with_it(agent: Agent, train: Train) -> None:
    with attach(agent):
        train(2)
        assert agent.hooks.follows_modules
    while agent.courier.has_sink:
        time.sleep(0.01)
    train(1)
    assert not agent.hooks.follows_modules
    assert not optimizer_hooks._global_optimizer_pre_hooks
    assert len(optimizer_hooks._global_optimizer_post_hooks) == 1


def test_that_a_window_can_attach_again(agent: Agent, train: Train) -> None:
    for _ in range(3):
        with attach(agent) as window:
            train(3)
            window.wait(lambda window=window: len(window.of("step")) == 2)
            assert window.of("hello")
            assert window.strings()[0] == ""
        while agent.courier.has_sink:
            time.sleep(0.01)


def test_that_a_second_window_is_told_why_it_may_not(agent: Agent, window: Window, train: Train) -> None:
    with Window(agent.courier.address) as second:
        second.wait(lambda: second.of("bye"))
        assert "Another window" in second.of("bye")[0].meta["reason"]
    train(2)
    window.wait(lambda: window.of("step"))


def test_that_a_detach_within_the_post_hooks_of_others_breaks_nothing(tmp_path: Path, train: Train) -> None:
    agent = start(Options(address=f"unix:{tmp_path}/a.sock"))
    calls = []
    theirs = optimizer_hooks.register_optimizer_step_post_hook(lambda *a: calls.append(1))
    try:
        agent.ask_detach()
        train(3)
    finally:
        theirs.remove()
    assert not agent.alive
    assert len(calls) == 3
    train(1)
    assert not optimizer_hooks._global_optimizer_post_hooks
    assert torch.autograd._engine_run_backward is torch.autograd.graph._engine_run_backward


def test_that_starting_twice_gives_the_same_agent(tmp_path: Path) -> None:
    with tensorscope.watch(address=f"unix:{tmp_path}/a.sock") as outer:
        with tensorscope.watch(address=f"unix:{tmp_path}/b.sock") as inner:
            assert inner.agent is outer.agent
        assert outer.agent.alive
    assert not outer.agent.alive


class Failing(Capture):
    """Raises in the method that the test names."""

    name = "failing"
    where = ""

    def __getattribute__(self, name: str) -> Any:
        if name == type(self).where:
            raise RuntimeError("as the test wants it")
        return super().__getattribute__(name)

    def before_forward(self, *args: Any) -> None: ...
    def after_forward(self, *args: Any) -> None: ...
    def before_backward(self, *args: Any) -> None: ...
    def after_backward(self, *args: Any) -> None: ...


@pytest.mark.parametrize(
    "where",
    [
        "start",
        "begin_step",
        "before_forward",
        "after_forward",
        "before_backward",
        "after_backward",
        "end_step",
    ],
)
def test_that_a_capture_that_fails_is_switched_off_and_told_once(
    agent: Agent, window: Window, train: Train, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(Failing, "where", where)
    monkeypatch.setattr(captures, "PACKAGE", "")
    monkeypatch.setitem(captures.REGISTRY, "failing", (__name__, "Failing"))
    monkeypatch.setitem(captures.BY_LEVEL, "scope", ("failing",))
    train(5)
    window.wait(lambda: len(window.of("step")) == 4)
    told = [f.meta["text"] for f in window.of("notice")]
    assert len(told) == 1
    assert "'failing'" in told[0]
    assert where in told[0]


def test_that_a_failure_of_the_agent_itself_detaches_it(agent: Agent, window: Window, train: Train) -> None:
    train(2)
    agent.steps.close = None  # type: ignore[assignment,method-assign]
    train(3)
    window.wait(lambda: window.of("bye"))
    assert not agent.alive
    assert "'NoneType' object is not callable" in window.of("bye")[0].meta["reason"]
    assert not module_hooks._global_forward_hooks


def test_that_a_failure_while_following_modules_leaves_the_steps(
    agent: Agent, window: Window, train: Train
) -> None:
    train(2)
    agent.modules._learn = None
    agent.modules._known.clear()
    train(3)
    window.wait(lambda: len(window.of("step")) == 4)
    assert len(window.of("notice")) == 1
    assert not module_hooks._global_forward_hooks


def test_that_a_forward_that_raises_leaves_no_module_open(agent: Agent, window: Window, train: Train) -> None:
    train(2)
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(3, 3))
    with pytest.raises(RuntimeError):
        net(torch.ones(1, 4))
    train(2)
    window.wait(lambda: len(window.of("step")) == 3)
    rows = zip(*(window.column("module", n) for n in ("step", "module", "depth")), strict=True)
    last = [(window.strings()[int(m)], depth) for step, m, depth in rows if step == 3]
    assert last == [("Sequential.0", 1), ("Sequential.1", 1), ("Sequential.2", 1), ("Sequential", 0)]


class Spy(torch.nn.Linear):
    """Notes the phase in which it runs."""

    def __init__(self, agent: Agent) -> None:
        super().__init__(2, 2)
        self.agent = agent
        self.phases: list[str] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.phases.append(PHASES[self.agent.context.phase])
        return super().forward(x)


def test_that_a_checkpointed_forward_within_backward_is_backward(
    agent: Agent, window: Window, train: Train
) -> None:
    train(2)
    spy = Spy(agent)
    loss = checkpoint(spy, torch.ones(1, 2), use_reentrant=False).sum()
    loss.backward()
    assert spy.phases == ["forward", "backward"]
    assert PHASES[agent.context.phase] == "other"


def test_that_a_gradient_penalty_within_forward_resumes_forward(
    agent: Agent, window: Window, train: Train
) -> None:
    train(2)
    spy, x = Spy(agent), torch.ones(1, 2, requires_grad=True)
    (grad,) = torch.autograd.grad(spy(x).sum(), x, create_graph=True)
    assert PHASES[agent.context.phase] == "forward"
    grad.sum().backward()
    assert PHASES[agent.context.phase] == "other"


def test_that_a_root_without_gradients_is_no_forward(agent: Agent, window: Window, train: Train) -> None:
    train(2)
    spy = Spy(agent)
    with torch.no_grad():
        spy(torch.ones(1, 2))
    assert spy.phases == ["other"]


def test_that_hooks_without_their_partner_are_ignored(agent: Agent, window: Window, train: Train) -> None:
    train(2)
    net = torch.nn.Linear(2, 2)
    agent.modules.leave(net, (), None)
    agent.modules.enter(net, ())
    agent.steps.optimizer_ends(time.perf_counter_ns())
    agent.backward_ends(BackwardCall((torch.zeros(()),)), None)
    train(4)
    window.wait(lambda: len(window.of("step")) == 5)
    depths = window.column("module", "depth")
    assert depths[-4:] == [1, 1, 1, 0]
    assert not window.of("notice")


def test_that_another_threads_modules_are_not_mixed_in(agent: Agent, window: Window, train: Train) -> None:
    train(2)
    net = torch.nn.Bilinear(2, 2, 2)
    thread = threading.Thread(target=net, args=(torch.ones(1, 2), torch.ones(1, 2)))
    thread.start()
    thread.join()
    train(1)
    window.wait(lambda: len(window.of("step")) == 2)
    assert "Bilinear" not in window.strings()


def test_that_garbage_and_foreign_frames_hang_up_the_window_alone(agent: Agent, train: Train) -> None:
    for junk in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"TSF1" + b"\xff" * 8,
        b"TSF1\x02\0\0\0\0\0\0\0{}",
        os.urandom(4096),
    ):
        with attach(agent) as window:
            window.socket.sendall(junk)
            with pytest.raises(AssertionError, match="hung up"):
                window.wait(lambda: False)
        train(2)
    assert agent.alive


def test_that_a_peer_of_another_user_is_hung_up_on(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensorscope.agent.courier.peer_uid", lambda connection: os.getuid() + 1)
    with Window(agent.courier.address) as window, pytest.raises(AssertionError, match="hung up"):
        window.wait(lambda: window.frames)


def test_that_a_tcp_window_must_know_the_token(train: Train) -> None:
    agent = start(Options(address="tcp:127.0.0.1:0", token="correct"))
    try:
        for wrong in ("wrong", ""):
            with Window(agent.courier.address, token=wrong) as window:
                with pytest.raises(AssertionError, match="hung up"):
                    window.wait(lambda window=window: window.frames)
                assert window.frames == []
        with Window(agent.courier.address, token="correct") as window:
            window.wait(lambda: window.of("hello"))
    finally:
        agent.detach("over")


def test_that_without_a_token_nobody_gets_in_over_tcp() -> None:
    agent = start(Options(address="tcp:127.0.0.1:0"))
    try:
        with (
            Window(agent.courier.address, token="") as window,
            pytest.raises(AssertionError, match="hung up"),
        ):
            window.wait(lambda: window.frames)
    finally:
        agent.detach("over")


def test_that_commands_are_answered_with_the_step_at_which_they_took_effect(
    agent: Agent, window: Window, train: Train
) -> None:
    thread_done = threading.Event()
    replies = []

    def ask() -> None:
        replies.append(window.command("level", level="pulse"))
        replies.append(window.command("level", level="loud"))
        replies.append(window.command("dance"))
        thread_done.set()

    asking = threading.Thread(target=ask)
    asking.start()
    while not thread_done.is_set():
        train(1)
    asking.join()
    train(2)
    window.wait(lambda: len(window.column("step", "step")) and window.column("step", "level")[-1] == 0)
    good, bad, unknown = replies
    first = window.column("step", "level").index(0)
    assert good.meta["ok"]
    assert window.column("step", "step")[first] == good.meta["step"]
    assert (bad.meta["ok"], unknown.meta["ok"]) == (False, False)
    assert "'dance'" in unknown.meta["error"]


def test_that_commands_do_not_wait_for_ever(
    agent: Agent, window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tensorscope.agent.commands.PATIENCE_SECONDS", 0.2)
    reply = window.command("deep")
    assert not reply.meta["ok"]
    assert "No training step has ended" in reply.meta["error"]
    assert window.command("detach").meta["ok"]
    window.wait(lambda: window.of("bye"))
    assert not optimizer_hooks._global_optimizer_post_hooks


def test_that_frames_that_do_not_fit_are_dropped_whole_and_counted(tmp_path: Path, train: Train) -> None:
    agent = start(Options(address=f"unix:{tmp_path}/a.sock", outbox_bytes=200_000, deep_first=False))
    try:
        with attach(agent) as window:
            window.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            for _ in range(40):
                train(50)
                time.sleep(0.01)
            client = agent.courier._client
            assert client is not None
            assert client.queued_bytes < 200_000
            window.wait(
                lambda: window.of("heartbeat") and window.of("heartbeat")[-1].meta["dropped_frames"] > 0
            )
            train(1)
            window.wait(lambda: agent.courier._client is not None and not agent.courier._client.queued_bytes)
            train(2)
            newest = float(agent.context.step - 1)
            window.wait(lambda: newest in window.column("step", "step"))
            window.strings()
            baselines = [frame.meta["reason"] for frame in window.of("baseline")]
            assert baselines[0] == "start"
            assert "resync" in baselines
    finally:
        agent.detach("over")


def test_that_a_frame_too_large_for_the_session_file_is_left_out_and_the_recording_goes_on(
    tmp_path: Path, train: Train
) -> None:
    path = tmp_path / "a.tscope"
    agent = start(Options(address="none", record=str(path), deep_first=False))
    try:
        train(2)
        agent.emit(Frame("tensors", meta={"text": "x" * (MAX_HEADER_BYTES + 1)}))
        train(2)
    finally:
        agent.detach("over")
    frames = list(read_session(path))
    assert frames[-1].kind == "bye"
    assert [frame.step for frame in frames if frame.kind == "step"] == [1, 2, 3]
    assert not [frame for frame in frames if frame.kind == "tensors"]
    assert [frame.meta for frame in frames if frame.kind == "heartbeat"][-1]["dropped_frames"] == 1
    notices = [frame.meta["code"] for frame in frames if frame.kind == "notice"]
    assert "recording-dropped" in notices
    assert "recording-failed" not in notices


def test_that_strings_cross_whatever_their_length() -> None:
    interner = Interner()
    texts = [chr(0x1F600) * 4096 + str(number) for number in range(40)] + [f"short {n}" for n in range(5000)]
    numbers = {interner.id(text): text[:4096] for text in texts}
    frames, end = interner.frames_since(1)
    got = {}
    for frame in frames:
        decoded = next(iter(FrameParser().feed(encode(frame))))
        got.update(enumerate(decoded.meta["values"], decoded.meta["first"]))
    assert got == numbers
    assert end == len(numbers) + 1
