"""Norms of the gradients that pass along the edges of an autograd graph, and which are not finite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

FINITE, NAN, INF = range(3)
Measure = tuple[float, int]
"""Euclidean norm, and `FINITE`, `NAN` or `INF`."""


class _Output(NamedTuple):
    module: int
    call: int


class GradientNorms:
    """Measures gradients as they pass; reads the numbers once, after backward.

    Nothing is read while backward runs: on CUDA every reading would wait for the device. Two numbers of
    each gradient stay on its device until then, the norm and the largest magnitude, which tells an
    overflow of the norm from a gradient that is not finite.

    Attributes
    ----------
    by_edge
        (row of the node, index among its next functions) to the gradient that it sends there.
    by_node
        Row of a node to the gradient that it receives.
    by_output
        (module string id, call number, measure) of what modules returned, in the order in which they did.
    """

    def __init__(self) -> None:
        self.by_edge: dict[tuple[int, int], Measure] = {}
        self.by_node: dict[int, Measure] = {}
        self.by_output: list[tuple[int, int, Measure]] = []
        self._waiting: list[tuple[Any, Any, Any]] = []

    def pass_through(self, row: int, sent: Sequence[Any], received: Sequence[Any]) -> None:
        """Measure what node `row` has received and what it sends on; in the thread of the node."""
        for index, gradient in enumerate(received):
            self._measure(row if index == 0 else None, gradient)
        for index, gradient in enumerate(sent):
            self._measure((row, index), gradient)

    def note_output(self, module: int, call: int, output: Any) -> None:
        """Measure the first tensor that a module's forward has returned."""
        first = next(iter(output), None) if isinstance(output, (tuple, list)) and output else output
        self._measure(_Output(module, call), first)

    def _measure(self, place: Any, gradient: Any) -> None:
        if place is None or type(gradient) is not torch.Tensor or gradient.layout is not torch.strided:
            return
        if gradient.is_meta or not (gradient.is_floating_point() or gradient.is_complex()):
            return
        with torch.no_grad(), torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():
            plain = gradient.detach()
            if not plain.numel():
                return
            wide = torch.float32 if plain.dtype in (torch.float16, torch.bfloat16) else None
            norm = torch.linalg.vector_norm(plain, dtype=wide)
            self._waiting.append((place, norm, torch.linalg.vector_norm(plain, float("inf"))))

    def read(self) -> None:
        """Fetch the numbers: one transfer for each device and type. After backward."""
        waiting, self._waiting = self._waiting, []
        groups: dict[Any, list[tuple[Any, Any, Any]]] = {}
        for entry in waiting:
            groups.setdefault((entry[1].device, entry[1].dtype), []).append(entry)
        with torch.no_grad(), torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():
            for group in groups.values():
                norms = torch.stack([norm for _, norm, _ in group]).tolist()
                largest = torch.stack([most for _, _, most in group]).tolist()
                for (place, _, _), norm, most in zip(group, norms, largest, strict=True):
                    self._note(place, (norm, _kind(most)))

    def _note(self, place: Any, measure: Measure) -> None:
        if isinstance(place, _Output):
            self.by_output.append((place.module, place.call, measure))
        elif isinstance(place, tuple):
            self.by_edge[place] = measure
        else:
            self.by_node[place] = measure


def _kind(largest: float) -> int:
    if largest != largest:
        return NAN
    return INF if largest == float("inf") else FINITE
