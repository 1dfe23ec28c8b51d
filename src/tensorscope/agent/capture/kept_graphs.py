"""Graphs of earlier steps that are still alive, and what keeps them: on a deep step, at its end."""

from __future__ import annotations

import gc
import time
from typing import Any

import torch
from torch._C._autograd import _get_sequence_nr

from tensorscope.agent.capture.capture import Capture
from tensorscope.agent.capture.holder_paths import HolderPaths
from tensorscope.agent.capture.tensor_facts import short_name, signed
from tensorscope.agent.context import Context, column
from tensorscope.core.wire import Frame

BUDGET_NS = 300_000_000
"""How long the end of a deep step may take longer for this."""
MAX_TENSORS, MAX_NODES = 12, 10_000


class KeptGraphs(Capture):
    """Emits one ``kept`` record per deep step, even where nothing is kept: then that is known.

    Sequence numbers grow with every node of a thread, so a node below the step's first number was made in
    an earlier step. Nodes of other threads count on their own and could be mistaken for old ones: only
    tensors whose first node is the training thread's own by its number or leads to one are told of.
    """

    name = "kept"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._first = -1

    def begin_step(self, step: int) -> None:
        """Note where this step's nodes begin."""
        self._first = _get_sequence_nr()

    def end_step(self, step: int) -> None:
        """Look at every tensor that hangs on a graph."""
        if self._first <= 0:
            return  # no node can be older
        begun = time.perf_counter_ns()
        search = _Search(self._first, begun + BUDGET_NS)
        with torch._C.DisableTorchFunction():
            search.look()
            holders = search.holders()
        string = self.context.string
        shown = search.found[:MAX_TENSORS]
        columns = {
            "grad_fn": column("u4", [string(short_name(tensor.grad_fn.name())) for tensor, _ in shown]),
            "shape": column("u4", [string(str(list(tensor.shape))) for tensor, _ in shown]),
            "nodes": column("i4", [nodes for _, nodes in shown]),
            "holder": column("u4", [string(text) for text in holders]),
        }
        meta = {
            "count": len(search.found), "nodes": sum(nodes for _, nodes in search.found),
            "truncated": search.late(), "took_ns": time.perf_counter_ns() - begun,
        }  # fmt: skip
        search.found.clear()
        self.context.emit(Frame("kept", step, meta=meta, columns=columns))


class _Search:
    """One look through the heap. `found` holds tensors and must be emptied before the program goes on."""

    def __init__(self, first: int, until_ns: int) -> None:
        self._first, self._until_ns = first, until_ns
        self._seen: set[Any] = set()
        self.found: list[tuple[Any, int]] = []

    def late(self) -> bool:
        return time.perf_counter_ns() > self._until_ns or len(self._seen) > MAX_NODES

    def look(self) -> None:
        """Find the tensors behind which there are nodes of earlier steps, those with most of them first."""
        hanging = [one for one in gc.get_objects() if issubclass(type(one), torch.Tensor) and _grad_fn(one)]
        hanging.sort(key=lambda tensor: signed(tensor.grad_fn._sequence_nr()))
        for tensor in hanging:
            if self.late():
                break
            nodes = self._older(tensor.grad_fn)
            if nodes:
                self.found.append((tensor, nodes))
        self.found.sort(key=lambda entry: -entry[1])
        self._seen.clear()

    def _older(self, start: Any) -> int:
        """Return how many nodes of earlier steps hang on `start` that were not seen before."""
        older, waiting = 0, [start]
        while waiting and len(self._seen) <= MAX_NODES:
            node = waiting.pop()
            if node is None or node in self._seen:
                continue
            self._seen.add(node)
            number = signed(node._sequence_nr())
            older += 0 <= number < self._first
            waiting += [child for child, _ in node.next_functions]
        return older

    def holders(self) -> list[str]:
        """Return the shortest way to each of the tensors that are shown, "" where none was found."""
        targets = [tensor for tensor, _ in self.found[:MAX_TENSORS]]
        if not targets:
            return []
        paths = HolderPaths(self.late)
        ways = paths.of_all(targets, (targets, self.found, *self.found))
        paths.forget()
        return [way[0][1] if way else "" for way in ways]


def _grad_fn(tensor: Any) -> Any:
    try:
        return tensor.grad_fn
    except RuntimeError:  # freed, or of a kind that has none
        return None
