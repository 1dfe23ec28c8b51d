"""The autograd graph of one step, from the loss of every backward."""

from __future__ import annotations

import math
from time import perf_counter_ns
from typing import Any

import torch
from torch._C._autograd import _get_sequence_nr

from tensorscope.agent.capture.backward_call import BackwardCall
from tensorscope.agent.capture.capture import Capture
from tensorscope.agent.capture.compiled import uses_compile
from tensorscope.agent.capture.deep_step import DeepStep
from tensorscope.agent.capture.forward_trace import ForwardTrace
from tensorscope.agent.capture.gradient_norms import GradientNorms
from tensorscope.agent.capture.graph_columns import graph_columns
from tensorscope.agent.capture.graph_walk import GraphWalk
from tensorscope.agent.capture.inplace_writes import clobbered, write_columns
from tensorscope.agent.capture.node_probe import NodeProbe
from tensorscope.agent.capture.tensor_facts import storage_of
from tensorscope.agent.context import Context
from tensorscope.agent.program import with_descendants
from tensorscope.core.wire import Frame

MAX_ERROR_CHARS = 500


class AutogradCapture(Capture):
    """Emits one ``graph`` record per step. Lives for the deep step only."""

    name = "graph"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._probe: NodeProbe | None = None
        self._loss: float | None = None
        self._roots: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._failed: str | None = None
        self._told = False
        self._timed = True
        self._first_seq = 0

    def begin_step(self, step: int) -> None:
        """Begin to follow the forward.

        Before any optimizer has stepped this may be the start of the whole program: then nothing is
        installed until a model is called, so as not to lie under its imports and initialisation.
        """
        self.stop()
        self._loss, self._roots, self._calls, self._failed, self._timed = None, [], [], None, True
        self._told = False
        trace = None if uses_compile() else ForwardTrace(self.context, sources=True)
        walk = GraphWalk(self.context, trace)
        self._first_seq = _get_sequence_nr()
        if self.context.wants_gradients:
            walk.norms = GradientNorms()
            if trace is not None:
                trace.on_output.append(walk.norms.note_output)
        self.context.deep = DeepStep(walk, trace)
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

    def before_backward(self, call: BackwardCall) -> None:
        """Read the graph while it holds its tensors, and follow its nodes."""
        deep = self.context.deep
        if deep is None:
            return
        with torch._C.DisableTorchFunction():
            self._name_roots(call.roots)
            nodes = deep.walk.add(call.roots)
        self._calls.append({
            "roots": len(call.roots), "retain_graph": call.retain_graph, "create_graph": call.create_graph,
            "accumulates": call.accumulates, "shared_nodes": deep.walk.shared_nodes,
            "t0_ns": perf_counter_ns(), "t1_ns": 0,
        })  # fmt: skip
        self._warn_of_writes(deep)
        if deep.trace is None or deep.walk.compiled:
            self._timed = False
        else:
            self._probe = NodeProbe(deep.walk.runs, deep.walk.norms)
            self._probe.install(nodes)

    def after_backward(self, call: BackwardCall, error: BaseException | None) -> None:
        """Take the hooks out; where backward raised, the step may never end: tell of the graph now."""
        if self._probe is not None:
            self._probe.remove()
            self._probe = None
        if self._calls:
            self._calls[-1]["t1_ns"] = perf_counter_ns()
        if error is not None and self.context.deep is not None:
            self._failed = f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARS]
            self._emit(self.context.deep, self.context.step)

    def end_step(self, step: int) -> None:
        """Emit the graph; the other captures may still ask for it until `stop`."""
        deep = self.context.deep
        if deep is None:
            return
        if deep.trace is not None:
            deep.trace.remove()
        if self._calls and not self._told:
            self._emit(deep, step)

    def _emit(self, deep: DeepStep, step: int) -> None:
        self._told = True
        kept = {
            storage_of(tensor)[0]
            for _, role, tensor in self.context.program.named_tensors()
            if role in ("parameter", "buffer")
        }
        meta = {
            "loss": self._loss, "root_names": self._roots, "backwards": len(self._calls),
            "compiled": deep.trace is None or deep.walk.compiled, "truncated": deep.walk.truncated,
            "timed": self._timed, "clock": "host", "gradients": deep.walk.norms is not None,
            "failed": self._failed, "calls": self._calls, "first_seq": self._first_seq,
            "module_hooks": self._count_module_hooks(),
        }  # fmt: skip
        columns = {**graph_columns(deep.walk, self.context, kept), **write_columns(deep.writes)}
        self.context.emit(Frame("graph", step, meta=meta, columns=columns))

    def _count_module_hooks(self) -> int:
        """Return how many forward and backward hooks the program's modules have."""
        names = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
        modules = [one for root in self.context.program.roots for one in with_descendants(root).values()]
        return sum(len(one.__dict__.get(name) or ()) for one in modules for name in names)

    def _warn_of_writes(self, deep: DeepStep) -> None:
        """Say, before backward fails on it, which tensor was written to after a node had saved it."""
        found = clobbered(deep)
        if found is not None:
            node, saved, write = found
            string = self.context.interner.text
            made = string(deep.walk.trace.source_of(deep.walk.numbers[node])) if deep.walk.trace else ""
            text = (
                f"{string(write.op)} at {string(write.source) or 'an unknown line'} has written to a tensor "
                f"that {string(deep.walk.names[node])} from {made or 'an unknown line'} had saved as "
                f"{string(saved)!r}: backward cannot use it any more."
            )
            self.context.notice("warning", "inplace-write", text)

    def stop(self) -> None:
        """Take out whatever is still in; a step that never ends has its graph all the same."""
        if self._probe is not None:
            self._probe.remove()
            self._probe = None
        deep, self.context.deep = self.context.deep, None
        if deep is not None and deep.trace is not None:
            deep.trace.remove()
        if deep is not None and self._calls and not self._told:
            self._emit(deep, self.context.step)

    def _say_compiled(self) -> None:
        text = "The program uses torch.compile: its graph is shown without modules, source lines and times."
        self.context.notice("info", "graph-compiled", text)

    def _name_roots(self, roots: tuple[Any, ...]) -> None:
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
