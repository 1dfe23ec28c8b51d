"""A torch function mode that lies under all others, and can be taken out from wherever it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack, _pop_mode, _push_mode
from torch.utils._device import DeviceContext

_BACKWARDS = frozenset(
    (torch.Tensor.backward.__code__, torch.autograd.backward.__code__, torch.autograd.grad.__code__)
)


class FunctionMode(TorchFunctionMode):  # type: ignore[misc]
    """Calls `before` and `after` round every torch function.

    Modes leave the stack from its top, whoever is there: a mode that we pushed on top would be popped
    in place of the user's. Ours goes to the bottom (over a device context, which insists on being last).
    """

    def __init__(self, before: Callable[[], int], after: Callable[[int], None]) -> None:
        super().__init__()
        self._before = before
        self._after = after
        self._live = False

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run `func` as it is."""
        if not self._live:
            return func(*args, **(kwargs or {}))
        mark = self._before()
        result = func(*args, **(kwargs or {}))
        if self._live:
            self._after(mark)
        return result

    def install(self) -> None:
        """Put this at the bottom; not from inside a backward, which has modes popped that it pushes back."""
        if self._live or _inside_backward():
            return
        above = _pop_all()
        bottom = above.pop() if above and isinstance(above[-1], DeviceContext) else None
        if bottom is not None:
            _push_mode(bottom)
        _push_mode(self)
        for mode in reversed(above):
            _push_mode(mode)
        self._live = True

    def remove(self) -> None:
        """Take this out, from wherever it is; all others keep their order."""
        self._live = False
        if any(mode is self for mode in _get_current_function_mode_stack()):
            for mode in reversed(_pop_all()):
                if mode is not self:
                    _push_mode(mode)


def _pop_all() -> list[Any]:
    """Empty the stack; the top comes first."""
    return [_pop_mode() for _ in _get_current_function_mode_stack()]


def _inside_backward() -> bool:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code in _BACKWARDS:
            return True
        frame = frame.f_back
    return False
