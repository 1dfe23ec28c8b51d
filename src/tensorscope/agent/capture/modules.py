"""Which module runs, and for how long: the ``module`` stream."""

from __future__ import annotations

import weakref
from array import array
from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns
from typing import Any

import torch

from tensorscope.agent.capture.capture import Capture
from tensorscope.agent.capture.steps import StepsCapture
from tensorscope.agent.context import Context, column
from tensorscope.core.wire import Frame

_FLUSH_VALUES = 5 * 8192


class ModulesCapture(Capture):
    """Follows the modules of the training thread; other threads are not followed.

    Parameters
    ----------
    steps
        Is told when a root's forward begins.
    root_begins, root_ends
        Called with (module, args) and (module, output) around a root's forward.
    failed
        Told of an error of ours; after it nothing is followed any more.
    """

    name = "modules"

    def __init__(
        self,
        context: Context,
        steps: StepsCapture,
        root_begins: Callable[[Any, Any], None],
        root_ends: Callable[[Any, Any], None],
        failed: Callable[[Exception], None],
    ) -> None:
        super().__init__(context)
        self.rows = False
        """Whether to emit a row per call (scope) or only follow the roots (pulse)."""
        self.broken = False
        """Set when it has failed: nothing is followed any more, and the hooks go at the next boundary."""
        self._steps = steps
        self._root_begins = root_begins
        self._root_ends = root_ends
        self._failed = failed
        self._thread = get_ident()
        self._stack: list[tuple[int, int, int, int]] = []
        self._calls: dict[int, int] = {}
        self._known: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._generation = -1
        self._values = array("q")

    def start(self) -> None:
        """Follow the thread that calls this."""
        self._thread = get_ident()
        self._stack.clear()

    def stop(self) -> None:
        """Forget everything."""
        self._stack.clear()
        self._known.clear()
        self._calls.clear()
        self._values = array("q")

    def enter(self, module: Any, args: Any) -> None:
        """Forward pre hook of every module. Never raises."""
        now = perf_counter_ns()
        if self.broken or get_ident() != self._thread:
            return
        try:
            if not self._stack:
                self._enter_root(module, args, now)
            elif not self.rows:
                self._stack.append((id(module), 0, 0, now))
                return
            self._enter(module, now)
        except Exception as error:  # noqa: BLE001  (nothing of ours may reach the training loop)
            self._break(error)

    def leave(self, module: Any, args: Any, output: Any) -> None:
        """Forward hook of every module, called also when its forward has raised. Never raises."""
        stack = self._stack
        if not stack or self.broken or get_ident() != self._thread:
            return
        if not self.rows and len(stack) > 1 and stack[-1][0] == id(module):
            stack.pop()
            return
        try:
            self._leave(module, output, perf_counter_ns())
        except Exception as error:  # noqa: BLE001
            self._break(error)

    def _break(self, error: Exception) -> None:
        self.broken = True
        self._failed(error)

    def _enter(self, module: Any, now: int) -> None:
        key = id(module)
        known = self._known.get(key)
        if known is None or known[0]() is not module:
            known = self._learn(module)
        call = self._calls.get(key, 0)
        self._calls[key] = call + 1
        self._stack.append((key, known[1], call, now))
        context = self.context
        context.module = string = known[1]
        context.scope.value = string << 8 | context.phase
        self._steps.agent_ns += perf_counter_ns() - now

    def _leave(self, module: Any, output: Any, now: int) -> None:
        stack = self._stack
        key, string, call, start = stack.pop()
        if key != id(module):
            found = self._unwind(id(module), (key, string, call, start))
            if found is None:
                return
            key, string, call, start = found
        context = self.context
        if self.rows:
            self._values.extend((string, call, len(stack), start, now))
            if len(self._values) >= _FLUSH_VALUES:
                self._flush(context.step)
        context.module = parent = stack[-1][1] if stack else 0
        context.scope.value = parent << 8 | context.phase
        if not stack:
            if not module.training and torch.is_grad_enabled() and _has_graph(output):
                self._steps.graph_in_eval()
            self._root_ends(module, output)
        self._steps.agent_ns += perf_counter_ns() - now

    def begin_step(self, step: int) -> None:
        """Count calls anew; names may have changed."""
        self._calls.clear()
        if self._generation != self.context.program.generation:
            self._generation = self.context.program.generation
            self._known.clear()

    def end_step(self, step: int) -> None:
        """Emit the calls that ended in this step, and give up those that never ended."""
        self._flush(step)
        if self._stack and self._stack[0][3] < self._steps.start_ns:
            self._stack.clear()
            self.context.enter(self.context.phase, 0)

    def _enter_root(self, module: Any, args: Any, now_ns: int) -> None:
        program = self.context.program
        if not program.knows(module):
            program.add_root(module)
            program.refresh()
            self._known.clear()
        if torch.is_grad_enabled():
            self._steps.forward_begins(now_ns)
        self._root_begins(module, args)

    def _learn(self, module: Any) -> tuple[weakref.ref[Any], int]:
        string = self.context.string(self.context.program.module_path(module))
        known = self._known[id(module)] = (weakref.ref(module), string)
        return known

    def _unwind(self, key: int, top: tuple[int, int, int, int]) -> tuple[int, int, int, int] | None:
        """Drop calls that never ended down to the one of `key`; None if it is not there."""
        stack = self._stack
        if all(entry[0] != key for entry in stack):
            stack.append(top)  # its own beginning was not seen
            return None
        while stack[-1][0] != key:
            stack.pop()
        return stack.pop()

    def _flush(self, step: int) -> None:
        values, self._values = self._values, array("q")
        if values:
            columns = {
                "step": column("i4", [step] * (len(values) // 5)),
                "module": column("u4", values[0::5].tolist()),
                "call": column("i4", values[1::5].tolist()),
                "depth": column("i4", values[2::5].tolist()),
                "t0_ns": column("i8", values[3::5]),
                "t1_ns": column("i8", values[4::5]),
            }
            self.context.emit(Frame("module", step, columns=columns))


def _has_graph(output: Any) -> bool:
    """Return whether a tensor in the output of a forward hangs on a graph; looks at the first few."""
    if isinstance(output, torch.Tensor):
        return output.grad_fn is not None
    if isinstance(output, dict):
        output = tuple(output.values())
    return isinstance(output, (tuple, list)) and any(_has_graph(one) for one in output[:8])
