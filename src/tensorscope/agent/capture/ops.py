"""The operators of one step, in order, each with its module and source line."""

from __future__ import annotations

import sys
from threading import get_ident
from time import perf_counter_ns
from typing import Any

import torch
from torch._C import _current_autograd_node
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from tensorscope.agent.capture.capture import Capture
from tensorscope.agent.capture.compiled import uses_compile
from tensorscope.agent.capture.inplace_writes import MAX_WRITES, Write, WrittenArguments
from tensorscope.agent.capture.source_lines import SourceLines
from tensorscope.agent.capture.tensor_facts import signed
from tensorscope.agent.context import Context, column
from tensorscope.core.wire import Frame

MAX_OPS = 500_000


class OpsCapture(Capture):
    """Emits one ``ops`` record per step. Every operator costs some 15 us more while it is on."""

    name = "ops"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._mode: _OpMode | None = None
        self._put_off = False

    def begin_step(self, step: int) -> None:
        """Go between the program and its operators; at the start of the program, with its first forward."""
        self.stop()
        self._put_off = not self.context.program.optimizers
        if not self._put_off:
            self._begin()

    def before_forward(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Begin now, if that was put off."""
        if self._put_off:
            self._put_off = False
            self._begin()

    def compile_begins(self) -> None:
        """Get out of the way of the compiler."""
        if self._mode is not None:
            self.stop()
            self._say_compiled()

    def end_step(self, step: int) -> None:
        """Emit the operators."""
        mode = self._mode
        self.stop()
        if mode is not None:
            self.context.emit(Frame("ops", step, meta={"complete": mode.complete}, columns=mode.columns()))

    def stop(self) -> None:
        """Let operators run undisturbed again."""
        mode, self._mode = self._mode, None
        if mode is not None:
            mode.leave()

    def _begin(self) -> None:
        """Begin, if that does not change what runs."""
        if uses_compile():
            self._say_compiled()
        elif _get_current_dispatch_mode_stack():
            text = "No operator list: the program has a dispatch mode of its own on."
            self.context.notice("info", "ops-mode", text)
        else:
            self._mode = _OpMode(self.context)
            self._mode.__enter__()

    def _say_compiled(self) -> None:
        text = "No operator list: what torch.compile made would run eagerly while operators are listed."
        self.context.notice("info", "ops-compiled", text)


class _OpMode(TorchDispatchMode):  # type: ignore[misc]
    # Otherwise torch raises into the program that uses one (torch.cond).
    supports_higher_order_operators = True

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.complete = True
        self._context = context
        self._thread = get_ident()
        self._live = True
        trace = context.deep.trace if context.deep is not None else None
        self._trace = trace
        self._lines = trace.lines if trace is not None else SourceLines(context)
        self._names: dict[Any, int] = {}
        self._written = WrittenArguments()
        self._rows: list[tuple[int, int, int, int, int, int]] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run `func` as it is, and note it."""
        begun = perf_counter_ns()
        output = func(*args, **(kwargs or {}))
        if self._live:
            try:
                self._note(func, begun, output)
                self._note_writes(func, args, kwargs or {})
            except Exception as error:  # noqa: BLE001  (nothing of ours may reach the program)
                self._live = self.complete = False
                text = f"The operator list ends early: {type(error).__name__}: {error}"
                self._context.notice("error", "ops-failed", text)
        return output

    def leave(self) -> None:
        """Take this mode out, from wherever it is in the stack."""
        self._live = False
        above = []
        stack = _get_current_dispatch_mode_stack()
        if not any(mode is self for mode in stack):
            return
        while stack[-1] is not self:
            above.append(stack.pop())
            above[-1].__exit__(None, None, None)
        self.__exit__(None, None, None)
        for mode in reversed(above):
            mode.__enter__()

    def columns(self) -> dict[str, Any]:
        """Return the columns of the record."""
        op, t_ns, phase, module, source, size = zip(*self._rows, strict=True) if self._rows else ((),) * 6
        return {
            "op": column("u4", op), "t_ns": column("i8", t_ns), "phase": column("u1", phase),
            "module": column("u4", module), "source": column("u4", source), "out_bytes": column("i8", size),
        }  # fmt: skip

    def _note_writes(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Keep which storages were written to before backward begins."""
        deep, trace = self._context.deep, self._trace
        if deep is None or trace is None or _current_autograd_node() is not None:
            return
        if get_ident() != self._thread or len(deep.writes) >= MAX_WRITES:
            return
        for storage in self._written.storages(func, args, kwargs):
            deep.writes.append(Write(storage, trace.mark, self._rows[-1][0], self._rows[-1][4]))

    def _note(self, func: Any, begun: int, output: Any) -> None:
        if len(self._rows) >= MAX_OPS:
            self.complete = False
            return
        name = self._names.get(func)
        if name is None:
            name = self._names[func] = self._context.string(str(func))
        context, trace = self._context, self._trace
        node = _current_autograd_node()
        if node is not None and trace is not None:  # in backward: of the forward that made the node
            number = signed(node._sequence_nr())
            module, source = trace.module_of(number)[0], trace.source_of(number)
        else:
            module = trace.module if trace is not None else context.module
            source = self._lines.of_frame(sys._getframe(2)) if get_ident() == self._thread else 0
        self._rows.append((name, begun, context.phase, module, source, _bytes_of(output)))


def _bytes_of(output: Any) -> int:
    if isinstance(output, torch.Tensor):
        try:
            return int(output.numel() * output.dtype.itemsize)
        except (RuntimeError, NotImplementedError):
            return 0  # nested
    return sum(_bytes_of(one) for one in output) if isinstance(output, (tuple, list)) else 0
