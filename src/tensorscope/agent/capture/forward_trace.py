"""Which module and which source line made each autograd node, by ranges of sequence numbers.

Every autograd node takes the next number of its thread when it is made. Noting the number when a
module begins and ends, and before and after each torch function, says afterwards of any node whose
it is, without touching a tensor.
"""

from __future__ import annotations

import sys
import weakref
from bisect import bisect_right
from collections.abc import Callable
from threading import get_ident
from typing import Any

import torch
from torch._C import _current_autograd_node
from torch._C._autograd import _get_sequence_nr
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from tensorscope.agent.capture.function_mode import FunctionMode
from tensorscope.agent.capture.source_lines import SourceLines
from tensorscope.agent.context import Context

_FAST_PATHS = (torch.nn.TransformerEncoder, torch.nn.TransformerEncoderLayer, torch.nn.MultiheadAttention)
"""Modules that compute in another way while a function mode is on, in evaluation."""


class ForwardTrace:
    """Follows one thread from `install` to `remove`, both at a step boundary.

    What runs inside backward (a checkpoint's second forward, a double backward) is left out: its
    numbers belong to no forward.

    Attributes
    ----------
    on_output
        Each is called with (module string id, call number, output) when a module's forward returns.
    module
        String id of the module that runs, 0 outside any.
    mark
        Sequence number when the torch function that runs began: nodes below it were there before.
    """

    def __init__(self, context: Context, sources: bool) -> None:
        self.on_output: list[Callable[[int, int, Any], None]] = []
        self.module = 0
        self.mark = 0
        self.lines = SourceLines(context)
        self._context = context
        self._mode = FunctionMode(self._before_function, self._after_function) if sources else None
        self._paused_by = 0
        self._thread = get_ident()
        self._handles: list[Any] = []
        self._stack: list[tuple[int, int, int]] = []
        self._calls: dict[int, int] = {}
        self._names: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._blind = False
        self._at: list[int] = [-1]
        self._modules: list[tuple[int, int]] = [(0, 0)]
        self._from: list[int] = []
        self._until: list[int] = []
        self._sources: list[int] = []

    @property
    def installed(self) -> bool:
        """Whether hooks are in torch now."""
        return bool(self._handles)

    def install(self) -> None:
        """Begin to follow the thread that calls this."""
        self._thread = get_ident()
        self._handles.append(register_module_forward_pre_hook(self.enter))
        self._handles.append(register_module_forward_hook(self._leave, always_call=True))
        if self._mode is not None:
            self._mode.install()

    def remove(self) -> None:
        """Take out everything that `install` put in. What was noted can still be asked."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self.on_output.clear()
        if self._mode is not None:
            self._mode.remove()

    def enter(self, module: Any, args: Any = ()) -> None:
        """Forward pre hook; called by hand where `install` ran within the forward of `module`."""
        try:
            if self._ignores():
                return
            key = id(module)
            name = self._names.get(key)
            if name is None or name[0]() is not module:
                path = self._context.string(self._context.program.module_path(module))
                name = self._names[key] = (weakref.ref(module), path)
            call = self._calls.get(key, 0)
            self._calls[key] = call + 1
            self._stack.append((key, name[1], call))
            self._now(name[1], call)
            if self._mode is not None and not self._paused_by and isinstance(module, _FAST_PATHS):
                self._pause(module)
        except Exception as error:  # noqa: BLE001  (nothing of ours may reach the forward)
            self._fail(error)

    def module_of(self, number: int) -> tuple[int, int]:
        """Return (string id of the module, its call number in this step) that made node `number`."""
        return self._modules[bisect_right(self._at, number) - 1] if number >= 0 else (0, 0)

    def source_of(self, number: int) -> int:
        """Return the string id of the source line that made node `number`, 0 if unknown."""
        at = bisect_right(self._from, number) - 1
        return self._sources[at] if at >= 0 and number < self._until[at] else 0

    def _leave(self, module: Any, args: Any, output: Any) -> None:
        try:
            if self._ignores():
                return
            key = id(module)
            stack = self._stack
            if all(entry[0] != key for entry in stack):
                return
            while stack[-1][0] != key:
                stack.pop()
            _, path, call = stack.pop()
            _, parent, parent_call = stack[-1] if stack else (0, 0, 0)
            self._now(parent, parent_call)
            if self._mode is not None and self._paused_by == key:
                self._paused_by = 0
                self._mode.install()
            for told in self.on_output:
                told(path, call, output)
        except Exception as error:  # noqa: BLE001
            self._fail(error)

    def _ignores(self) -> bool:
        """Whether this is another thread, or a forward within backward."""
        return self._blind or get_ident() != self._thread or _current_autograd_node() is not None

    def _now(self, module: int, call: int) -> None:
        self.module = module
        self._at.append(_get_sequence_nr())
        self._modules.append((module, call))

    def _pause(self, module: Any) -> None:
        """Leave no mode on round a module that would take another path because of it."""
        if not module.training and self._mode is not None:
            self._paused_by = id(module)
            self._mode.remove()

    def _before_function(self) -> int:
        if _current_autograd_node() is not None:
            return -1
        self.mark = _get_sequence_nr()
        return self.mark

    def _after_function(self, before: int) -> None:
        try:
            after = _get_sequence_nr()
            if after > before >= 0:
                line = self.lines.of_frame(sys._getframe(1))
                self._from.append(before)
                self._until.append(after)
                self._sources.append(line)
        except Exception as error:  # noqa: BLE001
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Go blind for the rest of this step; what is installed stays until `remove`."""
        self._blind = True
        self._context.notice(
            "error", "trace-failed", f"Following the forward failed: {type(error).__name__}: {error}"
        )
