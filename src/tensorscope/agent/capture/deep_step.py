"""What the graph capture knows of the deep step under way, for the captures that come after it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tensorscope.agent.capture.forward_trace import ForwardTrace
from tensorscope.agent.capture.graph_walk import GraphWalk
from tensorscope.agent.capture.inplace_writes import Write


@dataclass
class DeepStep:
    """One deep step. `trace` is None where the program is compiled: hooks would disturb it."""

    walk: GraphWalk
    trace: ForwardTrace | None
    writes: list[Write] = field(default_factory=list)
    """In-place writes outside backward, in their order; empty where operators are not listed."""
