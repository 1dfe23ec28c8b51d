"""Drives an AllocatorCapture by hand, as the agent's hooks would, on real models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from tensorscope.agent.capture.allocator import AllocatorCapture
from tensorscope.agent.capture.backward_call import BackwardCall
from tensorscope.agent.context import Context
from tensorscope.agent.interner import Interner
from tensorscope.agent.program import Program
from tensorscope.core.schema import CATEGORIES
from tensorscope.core.wire import Frame
from tensorscope.models.session_store import SessionStore


class Harness:
    """A training loop with the capture's calls in the places where the agent makes them."""

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer | None = None, **options: Any
    ) -> None:
        self.frames: list[Frame] = []
        self.model = model
        self.optimizer = optimizer
        self.interner = Interner()
        self.program = Program()
        self.program.add_root(model)
        if optimizer is not None:
            self.program.add_optimizer(optimizer)
        self.context = Context(self.interner, self.program, self.frames.append)
        options.setdefault("wait", True)
        self.capture = AllocatorCapture(self.context, **options)
        self.step = 0

    def __enter__(self) -> Harness:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.capture.stop()

    def start(self) -> None:
        self.program.refresh()
        self.capture.start()

    def forward(self, *args: Any) -> Any:
        self.capture.before_forward(self.model, args, {})
        self.context.enter(1, 0)
        output = self.model(*args)
        self.capture.after_forward(self.model, output)
        return output

    def backward(self, loss: torch.Tensor) -> None:
        self.capture.before_backward(BackwardCall((loss,)))
        self.context.enter(2, 0)
        loss.backward()
        self.context.enter(0, 0)
        self.capture.after_backward(BackwardCall((loss,)), None)

    def optimize(self) -> None:
        assert self.optimizer is not None
        self.context.enter(3, 0)
        self.optimizer.step()
        self.context.enter(0, 0)

    def boundary(self) -> None:
        self.program.refresh()
        self.capture.end_step(self.step)
        self.step += 1
        self.context.step = self.step
        self.capture.begin_step(self.step)

    def train_step(self, make_input: Callable[[], torch.Tensor]) -> None:
        assert self.optimizer is not None
        self.optimizer.zero_grad()
        self.train_step_on(make_input())

    def train_step_on(self, batch: torch.Tensor) -> None:
        loss = self.forward(batch).square().mean()
        self.backward(loss)
        del loss
        self.optimize()
        self.boundary()

    def notices(self) -> list[str]:
        return [frame.meta["code"] for frame in self.frames if frame.kind == "notice"]

    def store(self) -> SessionStore:
        store = SessionStore()
        for frame in self.interner.frames_since(1)[0]:
            store.ingest(frame)
        for frame in self.frames:
            store.ingest(frame)
        return store


class Replay:
    """Plays baselines and events as a viewer does, checking every sum on the way.

    After each event, per device: the live total is the frame's, is the sum over categories, and no
    category is negative; a free carries the category and size of its allocation.
    """

    def __init__(self, frames: list[Frame]) -> None:
        self.blocks: dict[int, tuple[int, int, int]] = {}
        self.by_category = [0] * len(CATEGORIES)
        self.peak = 0
        self.events = 0
        self.seen: list[tuple[int, int, int]] = []
        """(step, delta, category) of every event."""
        for frame in frames:
            if frame.kind == "baseline":
                self._baseline(frame)
            elif frame.kind == "alloc":
                self._events(frame)

    def live(self, device: int | None = None) -> int:
        return sum(size for size, _, where in self.blocks.values() if device in (None, where))

    def _baseline(self, frame: Frame) -> None:
        rows = zip(
            *(values(frame, name) for name in ("address", "size_bytes", "category", "device")), strict=True
        )
        self.blocks = {address: (size, category, device) for address, size, category, device in rows}
        self.by_category = [0] * len(CATEGORIES)
        for size, category, _ in self.blocks.values():
            self.by_category[category] += size

    def _events(self, frame: Frame) -> None:
        names = ("t_ns", "address", "delta_bytes", "total_bytes", "category", "device", "step")
        last = 0
        live = {}
        for _, _, device in self.blocks.values():
            live.setdefault(device, self.live(device))
        for t, address, delta, total, category, device, step in zip(
            *(values(frame, n) for n in names), strict=True
        ):
            assert t >= last, "times go backwards"
            last = t
            if delta > 0:
                assert address not in self.blocks, "allocated where a block lives"
                self.blocks[address] = (delta, category, device)
            else:
                assert self.blocks.pop(address) == (-delta, category, device), "free differs from allocation"
            self.by_category[category] += delta
            live[device] = live.get(device, 0) + delta
            assert live[device] == total, "total is not the sum of the deltas"
            assert sum(self.by_category) == sum(live.values())
            assert min(self.by_category) >= 0
            self.peak = max(self.peak, sum(live.values()))
            self.events += 1
            self.seen.append((step, delta, category))
        assert sum(live.values()) == self.live()


def values(frame: Frame, name: str) -> list[int]:
    column = frame.columns[name]
    codes = {"i8": "q", "u8": "Q", "i4": "i", "u4": "I", "u1": "B", "i2": "h"}
    return memoryview(bytes(column.data)).cast(codes[column.dtype]).tolist()
