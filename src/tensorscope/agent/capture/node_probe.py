"""When, where and how long each autograd node runs in backward, and the gradients that pass through it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from threading import get_ident
from time import perf_counter_ns
from typing import Any

from tensorscope.agent.capture.gradient_norms import GradientNorms


class NodeRuns:
    """What is known of the runs of each node, by row. A node that runs twice has its last begin."""

    def __init__(self) -> None:
        self.total_ns: list[int] = []
        self.begin_ns: list[int] = []
        self.threads: list[int] = []
        self._numbers: dict[int, int] = {}

    def grow(self, count: int) -> None:
        """Make room for `count` nodes in all."""
        more = count - len(self.total_ns)
        self.total_ns += [-1] * more
        self.begin_ns += [0] * more
        self.threads += [0] * more

    def thread(self) -> int:
        """Return the number of the thread that calls: in the order in which they came."""
        return self._numbers.setdefault(get_ident(), len(self._numbers))


class NodeProbe:
    """Host time from a node's pre hook to its post hook.

    The hooks hold a row number and this object, never a node: a hook that holds its node would make a
    cycle through C++ that nothing collects.
    """

    def __init__(self, runs: NodeRuns, norms: GradientNorms | None) -> None:
        self._runs = runs
        self._norms = norms
        self._start_ns: dict[int, int] = {}
        self._handles: list[Any] = []

    def install(self, nodes: Iterable[tuple[Any, int]]) -> None:
        """Follow each (node, row)."""
        handles = self._handles
        before, after = self._before, self._after
        for node, row in nodes:
            handles.append(node.register_prehook(partial(before, row)))
            handles.append(node.register_hook(partial(after, row)))

    def remove(self) -> None:
        """Take all hooks out of the nodes, and read what was measured."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._start_ns.clear()
        if self._norms is not None:
            self._norms.read()

    def _before(self, row: int, gradients: Any) -> None:
        self._start_ns[row] = perf_counter_ns()

    def _after(self, row: int, sent: Any, received: Any) -> None:
        now = perf_counter_ns()
        start = self._start_ns.pop(row, None)
        if start is not None:
            runs = self._runs
            runs.total_ns[row] = now - start + max(runs.total_ns[row], 0)
            runs.begin_ns[row] = start
            runs.threads[row] = runs.thread()
        if self._norms is not None:
            self._norms.pass_through(row, sent, received)
