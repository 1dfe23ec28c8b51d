"""How long each autograd node runs in backward."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from time import perf_counter_ns
from typing import Any


class NodeTimer:
    """Host time from a node's pre hook to its post hook.

    The hooks hold a row number and this object, never a node: a hook that holds its node would make a
    cycle through C++ that nothing collects.
    """

    def __init__(self, total_ns: list[int]) -> None:
        self._total_ns = total_ns
        self._start_ns: dict[int, int] = {}
        self._handles: list[Any] = []

    def install(self, nodes: Iterable[tuple[Any, int]]) -> None:
        """Time each (node, row); the sum goes to `total_ns` at that row."""
        handles = self._handles
        before, after = self._before, self._after
        for node, row in nodes:
            handles.append(node.register_prehook(partial(before, row)))
            handles.append(node.register_hook(partial(after, row)))

    def remove(self) -> None:
        """Take all hooks out of the nodes."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._start_ns.clear()

    def _before(self, row: int, gradients: Any) -> None:
        self._start_ns[row] = perf_counter_ns()

    def _after(self, row: int, inputs: Any, outputs: Any) -> None:
        now = perf_counter_ns()
        start = self._start_ns.pop(row, None)
        if start is not None:
            total = self._total_ns
            total[row] = now - start + max(total[row], 0)
