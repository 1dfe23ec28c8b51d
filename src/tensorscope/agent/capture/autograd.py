"""The autograd graph of one step, from the loss of every backward."""

from __future__ import annotations

import math
from typing import Any

import torch

from tensorscope.agent.capture.capture import Capture
from tensorscope.agent.capture.compiled import uses_compile
from tensorscope.agent.capture.deep_step import DeepStep
from tensorscope.agent.capture.forward_trace import ForwardTrace
from tensorscope.agent.capture.graph_walk import GraphWalk
from tensorscope.agent.capture.node_timer import NodeTimer
from tensorscope.agent.capture.tensor_facts import storage_of
from tensorscope.agent.context import Context
from tensorscope.core.wire import Frame


class AutogradCapture(Capture):
    """Emits one ``graph`` record per step. Lives for the deep step only."""

    name = "graph"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._timer: NodeTimer | None = None
        self._loss: float | None = None
        self._roots: list[str] = []
        self._backwards = 0
        self._timed = True

    def begin_step(self, step: int) -> None:
        """Begin to follow the forward.

        Before any optimizer has stepped this may be the start of the whole program: then nothing is
        installed until a model is called, so as not to lie under its imports and initialisation.
        """
        self.stop()
        self._loss, self._roots, self._backwards, self._timed = None, [], 0, True
        trace = None if uses_compile() else ForwardTrace(self.context, sources=True)
        self.context.deep = DeepStep(GraphWalk(self.context, trace), trace)
        if trace is None:
            self._say_compiled()
        elif self.context.program.optimizers:
            trace.install()

    def before_forward(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Begin to follow the forward now, if that was put off."""
        trace = self.context.deep.trace if self.context.deep is not None else None
        if trace is not None and not trace.installed:
            trace.install()
            trace.enter(module)

    def compile_begins(self) -> None:
        """Get out of the way of the compiler."""
        deep = self.context.deep
        if deep is not None and deep.trace is not None:
            deep.trace.remove()
            deep.trace = None
            self._say_compiled()

    def before_backward(self, roots: tuple[Any, ...]) -> None:
        """Read the graph while it holds its tensors, and time its nodes."""
        deep = self.context.deep
        if deep is None:
            return
        with torch._C.DisableTorchFunction():
            self._name_roots(roots)
            nodes = deep.walk.add(roots)
        if deep.trace is None or deep.walk.compiled:
            self._timed = False
        else:
            self._timer = NodeTimer(deep.walk.backward_ns)
            self._timer.install(nodes)

    def after_backward(self, roots: tuple[Any, ...]) -> None:
        """Take the timing hooks out."""
        if self._timer is not None:
            self._timer.remove()
            self._timer = None

    def end_step(self, step: int) -> None:
        """Emit the graph; the other captures may still ask for it until `stop`."""
        deep = self.context.deep
        if deep is None:
            return
        if deep.trace is not None:
            deep.trace.remove()
        if not self._backwards:
            return
        kept = {
            storage_of(tensor)[0]
            for _, role, tensor in self.context.program.named_tensors()
            if role in ("parameter", "buffer")
        }
        meta = {
            "loss": self._loss, "root_names": self._roots, "backwards": self._backwards,
            "compiled": deep.trace is None or deep.walk.compiled, "truncated": deep.walk.truncated,
            "timed": self._timed, "clock": "host",
        }  # fmt: skip
        self.context.emit(Frame("graph", step, meta=meta, columns=deep.walk.columns(kept)))

    def stop(self) -> None:
        """Take out whatever is still in."""
        self.after_backward(())
        deep, self.context.deep = self.context.deep, None
        if deep is not None and deep.trace is not None:
            deep.trace.remove()

    def _say_compiled(self) -> None:
        text = "The program uses torch.compile: its graph is shown without modules, source lines and times."
        self.context.notice("info", "graph-compiled", text)

    def _name_roots(self, roots: tuple[Any, ...]) -> None:
        self._backwards += 1
        for root in roots:
            number = len(self._roots)
            self._roots.append(f"loss#{number}" if number else "loss")
            if self._loss is None and root.numel() == 1:
                self._loss = scalar_of(root)


def scalar_of(tensor: Any) -> float | None:
    """Return the value of a one-element tensor; None where it has none or is not finite."""
    if type(tensor) is not torch.Tensor or tensor.is_meta:
        return None
    with torch._C._DisableTorchDispatch():
        value = float(tensor.detach().item())
    return value if math.isfinite(value) else None
