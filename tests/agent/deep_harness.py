"""Drives captures by hand as the agent does, and reads their frames back as Python lists."""

from __future__ import annotations

import torch

from tensorscope.agent.capture.autograd import AutogradCapture
from tensorscope.agent.context import Context
from tensorscope.agent.hooks import _call_of
from tensorscope.agent.interner import Interner
from tensorscope.agent.program import Program
from tensorscope.core.wire import ARRAY_CODES, Frame, decode_parts, encode_parts

torch.set_num_threads(1)


class Harness:
    """A context for one model and its captures; tells them of forward, backward and step as hooks do."""

    def __init__(self, model=None, optimizer=None, kinds=(AutogradCapture,)) -> None:
        self.frames: list[Frame] = []
        self.program = Program()
        self.kept = (model, optimizer)  # the program itself holds neither
        if model is not None:
            self.program.add_root(model)
        if optimizer is not None:
            self.program.add_optimizer(optimizer)
        self.program.refresh()
        self.context = Context(Interner(), self.program, self.frames.append)
        self.captures = [kind(self.context) for kind in kinds]
        self._original = None

    def begin(self, step: int = 0) -> None:
        self._original = torch.autograd._engine_run_backward

        def engine(roots, *args, **kwargs):
            call = _call_of(roots, args, kwargs)
            self.tell("before_backward", call)
            try:
                found = self._original(roots, *args, **kwargs)
            except BaseException as error:
                self.tell("after_backward", call, error)
                raise
            self.tell("after_backward", call, None)
            return found

        torch.autograd._engine_run_backward = engine
        self.tell("start")
        self.tell("begin_step", step)

    def end(self, step: int = 0) -> None:
        self.tell("end_step", step)
        self.tell("stop")
        torch.autograd._engine_run_backward = self._original

    def tell(self, method: str, *args) -> None:
        for capture in self.captures:
            getattr(capture, method)(*args)

    def record(self, kind: str) -> dict:
        """The only record of `kind`, with its string columns as text."""
        (frame,) = [frame for frame in self.frames if frame.kind == kind]
        return self.read(frame)

    def read(self, frame: Frame) -> dict:
        frame = decode_parts(*encode_parts(frame))  # what crosses the wire, not what was made
        texts = [text for part in self.context.interner.frames_since(0)[0] for text in part.meta["values"]]
        out = {"meta": frame.meta}
        for name, column in frame.columns.items():
            values = memoryview(column.data).cast("B").cast(ARRAY_CODES[column.dtype]).tolist()
            out[name] = [texts[value] for value in values] if column.dtype == "u4" else values
        return out

    def notices(self) -> list[str]:
        return [frame.meta["code"] for frame in self.frames if frame.kind == "notice"]
