"""What the graph capture knows of the deep step under way, for the captures that come after it."""

from __future__ import annotations

from dataclasses import dataclass

from tensorscope.agent.capture.forward_trace import ForwardTrace
from tensorscope.agent.capture.graph_walk import GraphWalk


@dataclass
class DeepStep:
    """One deep step. `trace` is None where the program is compiled: hooks would disturb it."""

    walk: GraphWalk
    trace: ForwardTrace | None
