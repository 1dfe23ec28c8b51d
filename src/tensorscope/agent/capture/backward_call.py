"""One call of the autograd engine."""

from __future__ import annotations

from typing import Any, NamedTuple


class BackwardCall(NamedTuple):
    """What ``backward`` or ``autograd.grad`` was asked for. Keep none past the call: it holds the graph."""

    roots: tuple[Any, ...]
    retain_graph: bool = False
    create_graph: bool = False
    accumulates: bool = True
    """Whether gradients go into the leaves (``backward``), not to the caller (``autograd.grad``)."""
