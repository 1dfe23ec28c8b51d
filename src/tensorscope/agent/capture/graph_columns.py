"""The columns of a ``graph`` record, from what a walk has read."""

from __future__ import annotations

import math
from typing import Any

from tensorscope.agent.capture.graph_walk import NO_META, GraphWalk
from tensorscope.agent.context import Context, column
from tensorscope.core.wire import Column

_UNMEASURED = (math.nan, 0)


def graph_columns(walk: GraphWalk, context: Context, kept: set[int]) -> dict[str, Column]:
    """Return the columns of the record.

    Parameters
    ----------
    kept
        Addresses of storages that live with or without the graph (parameters, buffers): they are
        listed as saved, but are none of the bytes that the graph holds.
    """
    shapes = _Shapes(context)
    return {**_nodes(walk, shapes, kept), **_edges(walk), **_saved(walk, shapes), **_outputs(walk)}


class _Shapes:
    """String ids of shapes, each spelt once."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._ids: dict[Any, int] = {}

    def id_of(self, sizes: Any) -> int:
        found = self._ids.get(sizes)
        if found is None:
            found = self._ids[sizes] = self._context.string(str(list(sizes)))
        return found


def _nodes(walk: GraphWalk, shapes: _Shapes, kept: set[int]) -> dict[str, Column]:
    trace = walk.trace
    made = [trace.module_of(number) if trace is not None else (0, 0) for number in walk.numbers]
    metas = walk.metas
    dtype = walk.facts.dtype
    columns = {
        "node_name": column("u4", walk.names), "node_seq": column("i8", walk.numbers),
        "node_module": column("u4", [module for module, _ in made]),
        "node_call": column("i4", [call for _, call in made]),
        "node_param": column("u4", walk.parameters),
        "node_shape": column("u4", [0 if meta is NO_META else shapes.id_of(meta[0]) for meta in metas]),
        "node_dtype": column("u4", [0 if meta is NO_META else dtype(meta[1]) for meta in metas]),
        "node_saved_bytes": column("i8", _saved_bytes(walk, kept)),
        "node_source": column("u4", _sources(walk)),
        "node_backward_ns": column("i8", walk.runs.total_ns),
        "node_begin_ns": column("i8", walk.runs.begin_ns), "node_thread": column("u2", walk.runs.threads),
        "node_backward": column("u2", walk.backwards), "node_kind": column("u1", walk.kinds),
        "node_hooks": column("u2", [walk.hooks.get(row, 0) for row in range(len(walk))]),
    }  # fmt: skip
    if walk.norms is not None:
        found = [walk.norms.by_node.get(row, _UNMEASURED) for row in range(len(walk))]
        columns["node_grad_norm"] = column("f8", [norm for norm, _ in found])
        columns["node_nonfinite"] = column("u1", [kind for _, kind in found])
    return columns


def _edges(walk: GraphWalk) -> dict[str, Column]:
    columns = {
        "edge_from": column("i4", walk.edge_from), "edge_to": column("i4", walk.edge_to),
        "edge_input": column("u2", walk.edge_input), "edge_output": column("u2", walk.edge_output),
    }  # fmt: skip
    if walk.norms is not None:
        places = zip(walk.edge_from, walk.edge_input, strict=True)
        found = [walk.norms.by_edge.get(place, _UNMEASURED) for place in places]
        columns["edge_grad_norm"] = column("f8", [norm for norm, _ in found])
        columns["edge_nonfinite"] = column("u1", [kind for _, kind in found])
    return columns


def _outputs(walk: GraphWalk) -> dict[str, Column]:
    if walk.norms is None:
        return {}
    found = walk.norms.by_output
    return {
        "output_module": column("u4", [module for module, _, _ in found]),
        "output_call": column("i4", [call for _, call, _ in found]),
        "output_norm": column("f8", [norm for _, _, (norm, _) in found]),
        "output_nonfinite": column("u1", [kind for _, _, (_, kind) in found]),
    }


def _saved(walk: GraphWalk, shapes: _Shapes) -> dict[str, Column]:
    saved = [facts for _, _, facts in walk.saved]
    return {
        "saved_node": column("i4", [row for row, _, _ in walk.saved]),
        "saved_name": column("u4", [name for _, name, _ in walk.saved]),
        "saved_shape": column("u4", [shapes.id_of(facts.sizes) for facts in saved]),
        "saved_dtype": column("u4", [facts.dtype for facts in saved]),
        "saved_bytes": column("i8", [facts.storage_bytes for facts in saved]),
        "saved_storage": column("u8", [facts.storage for facts in saved]),
        "saved_version": column("i4", [facts.version for facts in saved]),
    }  # fmt: skip


def _saved_bytes(walk: GraphWalk, kept: set[int]) -> list[int]:
    found = [0] * len(walk)
    seen = set(kept)
    for index, (row, _, facts) in enumerate(walk.saved):
        if index in walk.first_saved:
            seen = set(kept)  # what the backward before had freed may lie at the same address
        if facts.storage not in seen:
            seen.add(facts.storage)
            found[row] += facts.storage_bytes
    return found


def _sources(walk: GraphWalk) -> list[int]:
    if walk.trace is None:
        return [0] * len(walk)
    of, own = walk.trace.source_of, walk.sources
    return [own.get(row) or of(number) for row, number in enumerate(walk.numbers)]
