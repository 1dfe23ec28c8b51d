"""The part of an outline that is shown: boxes, clusters, and the edges of each level between them."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.graph_outline import Longs, Outline

OP, BOX, CLUSTER = range(3)


@dataclass
class Level:
    """What is laid out together: the items inside of one cluster, and ports for edges that leave it.

    Entries below `Condensed.count` are items; the others are ports. `edges` go from the entry nearer
    to the loss to the one nearer to the inputs.
    """

    entries: list[int] = field(default_factory=list)
    loss_ports: list[int] = field(default_factory=list)
    input_ports: list[int] = field(default_factory=list)
    edges: dict[tuple[int, int], int] = field(default_factory=dict)


@dataclass
class Condensed:
    """Items in order, clusters before what they hold. Of group and place, one is -1."""

    kind: list[int]
    group: list[int]
    place: list[int]
    parent: list[int]
    item_at: NDArray[np.int64]
    """Innermost item of every position of the order."""
    levels: dict[int, Level]
    """By cluster item; -1 is the whole picture."""
    port_of: dict[tuple[int, bool, int], int]
    """(cluster, towards the inputs, peer in the level outside) -> port inside."""

    @property
    def count(self) -> int:
        """Number of items."""
        return len(self.kind)


def condense(outline: Outline, expanded: Set[str], edge_from: Longs, edge_to: Longs) -> Condensed:
    """Return what is seen with the groups of `expanded` keys open; the cost grows with what is seen."""
    shown = _items(outline, expanded)
    positions = outline.position[edge_from], outline.position[edge_to]
    inner = (positions[0] >= 0) & (positions[0] < positions[1])  # a cycle in a bad record is cut open
    source, target = (shown.item_at[place[inner]] for place in positions)
    real = source != target
    pairs = source[real] * np.int64(shown.count) + target[real]
    unique, counts = np.unique(pairs, return_counts=True)
    depth = [0] * shown.count
    for item, parent in enumerate(shown.parent):
        depth[item] = depth[parent] + 1 if parent >= 0 else 0
    for pair, count in zip(unique.tolist(), counts.tolist(), strict=True):
        _route(shown, depth, pair // shown.count, pair % shown.count, count)
    return shown


def _items(outline: Outline, expanded: Set[str]) -> Condensed:
    shown = Condensed([], [], [], [], np.zeros(len(outline.order), np.int64), {-1: Level()}, {})
    stack = [(group, place, -1) for group, place in reversed(outline.entries(0))]
    while stack:
        group, place, parent = stack.pop()
        item = shown.count
        shown.levels[parent].entries.append(item)
        shown.group.append(group)
        shown.place.append(place)
        shown.parent.append(parent)
        if group < 0:
            shown.kind.append(OP)
            shown.item_at[place] = item
        elif outline.key(group) in expanded:
            shown.kind.append(CLUSTER)
            shown.levels[item] = Level()
            stack += [(*entry, item) for entry in reversed(outline.entries(group))]
        else:
            shown.kind.append(BOX)
            shown.item_at[outline.start[group] : outline.stop[group]] = item
    return shown


def _route(shown: Condensed, depth: list[int], source: int, target: int, count: int) -> None:
    """Add an edge between two innermost items to every level that it passes through."""
    up, down = [source], [target]
    while shown.parent[up[-1]] != shown.parent[down[-1]]:
        longer = up if depth[up[-1]] >= depth[down[-1]] else down
        longer.append(shown.parent[longer[-1]])
    outer = shown.levels[shown.parent[up[-1]]].edges
    outer[up[-1], down[-1]] = outer.get((up[-1], down[-1]), 0) + count
    for chain, outside, towards_inputs in ((up, down[-1], True), (down, up[-1], False)):
        peer = outside
        for cluster, child in zip(chain[:0:-1], chain[-2::-1], strict=True):
            level = shown.levels[cluster]
            port = _port(shown, level, cluster, towards_inputs, peer)
            ends = (child, port) if towards_inputs else (port, child)
            level.edges[ends] = level.edges.get(ends, 0) + count
            peer = port


def _port(shown: Condensed, level: Level, cluster: int, towards_inputs: bool, peer: int) -> int:
    key = (cluster, towards_inputs, peer)
    port = shown.port_of.get(key)
    if port is None:
        port = shown.port_of[key] = shown.count + len(shown.port_of)
        (level.input_ports if towards_inputs else level.loss_ports).append(port)
    return port
