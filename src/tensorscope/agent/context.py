"""What every capture and toggle knows of the present moment, and how it speaks."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorscope.core.wire import ARRAY_CODES, Column, Frame

if TYPE_CHECKING:
    from tensorscope.agent.capture.deep_step import DeepStep
    from tensorscope.agent.interner import Interner
    from tensorscope.agent.program import Program
    from tensorscope.agent.toggles import Active


class Context:
    """Where the training thread is. Written by the hooks in the training thread only.

    Attributes
    ----------
    step
        Step now running.
    phase
        Index into `schema.PHASES`.
    module
        String id of the innermost module whose forward is running, 0 outside any.
    scope
        ``module << 8 | phase`` in a C cell that the native allocator recorder reads at every event.
    emit
        Queues a frame; any thread; never blocks, may drop (and count).
    memory_totals
        Set while allocations are recorded: returns (live, peak) allocator bytes of all devices at the
        end of, and highest within, the step that the allocator capture has ended last. It must
        therefore end its step before whoever asks; (-1, -1) where that step was not recorded.
    toggles
        The optimisations that are on now; `tensorscope.agent.toggles` alone writes it.
    deep
        What the graph capture knows of the deep step under way, for the captures that are told after it.
    wants_gradients
        Whether the next deep step measures the gradients that pass through the graph.
    """

    memory_totals: Callable[[], tuple[int, int]] | None = None
    deep: DeepStep | None = None
    wants_gradients = False

    def __init__(self, interner: Interner, program: Program, emit: Callable[[Frame], None]) -> None:
        self.interner = interner
        self.program = program
        self.emit = emit
        self.step = 0
        self.phase = 0
        self.module = 0
        self.variant = 0
        self.toggles: dict[str, Active] = {}
        self.scope = ctypes.c_uint64(0)

    def enter(self, phase: int, module: int) -> None:
        """Say which phase and module run from now on."""
        self.phase, self.module = phase, module
        self.scope.value = module << 8 | phase

    def string(self, text: str) -> int:
        """Return the string id of `text`."""
        return self.interner.id(text)

    def notice(self, severity: str, code: str, text: str) -> None:
        """Tell the person something, in the window's notices and log."""
        meta = {"severity": severity, "code": code, "text": text}
        self.emit(Frame("notice", self.step, meta=meta))


def column(dtype: str, values: Any) -> Column:
    """Return a one-dimensional column of `values` (an ``array.array``, a list, or any iterable)."""
    import array

    data = values if isinstance(values, array.array) else array.array(ARRAY_CODES[dtype], values)
    return Column(dtype, (len(data),), data.tobytes())
