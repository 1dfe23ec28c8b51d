"""Lays out every level of a condensed graph, from the innermost clusters out, into one picture.

y grows downwards and with the forward pass: inputs at the top, the loss at the bottom.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.cancelling import Cancelled
from tensorscope.compute.graph_condense import CLUSTER, Condensed, Level
from tensorscope.compute.graph_layout import Placed, Shapes, place

Floats = NDArray[np.float64]
PAD_PX = 12.0


@dataclass(frozen=True)
class Size:
    """Room of an item left and right of its wire, and its height."""

    left: float
    right: float
    height: float


@dataclass(frozen=True, eq=False)
class Compound:
    """Rectangles of all items, and edges as pieces that never cross a box.

    Attributes
    ----------
    wire, x0, x1, y0, y1
        Of every item.
    pieces
        (n, 4): x, y at the producer's side, x, y at the consumer's side; vertical within a layer.
    piece_from, piece_to
        Producer and consumer of the piece's level; -1 where that is a port of the cluster around.
    visits
        Cost of the layout, for tests.
    """

    wire: Floats
    x0: Floats
    x1: Floats
    y0: Floats
    y1: Floats
    pieces: Floats
    piece_from: NDArray[np.int64]
    piece_to: NDArray[np.int64]
    visits: int


@dataclass
class _Inside:
    """A laid out level: entries by number, and what it needs around its own wire."""

    index: dict[int, int]
    edges: list[tuple[int, int]]
    offsets: list[tuple[float, float]]
    placed: Placed
    size: Size


def compound(
    shown: Condensed, sizes: list[Size], header_px: float, cancelled: Cancelled = lambda: False
) -> Compound:
    """Place everything; `sizes` of clusters are the least they get, `header_px` is the room for titles."""
    sizes = list(sizes)
    insides: dict[int, _Inside] = {}
    known: dict[Hashable, Placed] = {}
    for item in [*range(shown.count - 1, -1, -1), -1]:
        if item < 0 or shown.kind[item] == CLUSTER:
            inside = insides[item] = _lay_out(shown, shown.levels[item], sizes, insides, known, cancelled)
            if item >= 0:
                around, least = inside.size, sizes[item]
                sizes[item] = Size(
                    max(around.left + PAD_PX, least.left), max(around.right + PAD_PX, least.right),
                    around.height + header_px + PAD_PX,
                )  # fmt: skip
    return _compose(shown, sizes, insides, header_px)


def _lay_out(
    shown: Condensed, level: Level, sizes: list[Size], insides: dict[int, _Inside],
    known: dict[Hashable, Placed], cancelled: Cancelled,
) -> _Inside:  # fmt: skip
    """Place one level; levels that look alike, as the blocks of a transformer, are placed once."""
    entries = [*level.loss_ports, *level.entries, *level.input_ports]
    index = {entry: i for i, entry in enumerate(entries)}
    port = Size(3.0, 3.0, 0.0)
    room = [sizes[entry] if entry < shown.count else port for entry in entries]
    shapes = Shapes([s.left for s in room], [s.right for s in room], [s.height for s in room])
    edges = [(index[source], index[target]) for source, target in level.edges]
    offsets = [
        (_port_x(shown, insides, source, True, target), _port_x(shown, insides, target, False, source))
        for source, target in level.edges
    ]
    ends = len(level.loss_ports), len(level.input_ports)
    sides = tuple(shapes.left), tuple(shapes.right), tuple(shapes.height)
    key = (sides, tuple(edges), tuple(offsets), ends)
    placed = known.get(key)
    if placed is None:
        placed = known[key] = place(shapes, edges, offsets, *ends, cancelled)
    left = max((s.left - x for s, x in zip(room, placed.x, strict=True)), default=0.0)
    right = max((s.right + x for s, x in zip(room, placed.x, strict=True)), default=0.0)
    return _Inside(index, edges, offsets, placed, Size(left, right, placed.height))


def _port_x(
    shown: Condensed, insides: dict[int, _Inside], item: int, towards_inputs: bool, peer: int
) -> float:
    """Return how far from the wire of `item` the edge to `peer` leaves it."""
    port = shown.port_of.get((item, towards_inputs, peer))
    if port is None:
        return 0.0
    inside = insides[item]
    return inside.placed.x[inside.index[port]]


def _compose(shown: Condensed, sizes: list[Size], insides: dict[int, _Inside], header_px: float) -> Compound:
    wire, top = np.zeros(shown.count), np.zeros(shown.count)
    pieces: list[tuple[float, float, float, float]] = []
    ends: list[tuple[int, int]] = []
    for cluster in [-1, *(i for i in range(shown.count) if shown.kind[i] == CLUSTER)]:
        inside = insides[cluster]
        x0, y0 = (wire[cluster], top[cluster] + header_px) if cluster >= 0 else (0.0, 0.0)
        bottom = y0 + inside.placed.height
        entries = list(inside.index)
        for entry, i in inside.index.items():
            if entry < shown.count:
                wire[entry] = x0 + inside.placed.x[i]
                top[entry] = bottom - inside.placed.top[i] - sizes[entry].height
        frame = (top[cluster], top[cluster] + sizes[cluster].height) if cluster >= 0 else (y0, bottom)
        for number, (source, target) in enumerate(inside.edges):
            path = _path(inside, number, x0, bottom, frame)
            pieces += path
            pair = entries[target], entries[source]
            known = tuple(entry if entry < shown.count else -1 for entry in pair)
            ends += [(known[0], known[1])] * len(path)
    left, right = (np.array([getattr(s, side) for s in sizes]) for side in ("left", "right"))
    height = np.array([s.height for s in sizes])
    pairs = np.array(ends, np.int64).reshape(-1, 2)
    return Compound(
        wire, wire - left, wire + right, top, top + height,
        np.array(pieces, float).reshape(-1, 4), pairs[:, 0], pairs[:, 1],
        sum(inside.placed.visits for inside in insides.values()),
    )  # fmt: skip


def _path(
    inside: _Inside, number: int, x0: float, bottom: float, frame: tuple[float, float]
) -> list[tuple[float, float, float, float]]:
    """Return the pieces of one edge from its producer down to its consumer."""
    placed, (source, target) = inside.placed, inside.edges[number]
    at_source, at_target = inside.offsets[number]
    last = len(inside.index) - 1
    points: list[tuple[float, float]] = []
    x = x0 + placed.x[target] + at_target
    is_port = placed.layer[target] == placed.layer[last] and _height(inside, target) == 0.0
    points.append((x, frame[0] if is_port else bottom - placed.top[target]))
    points.append((x, bottom - placed.layer_top[placed.layer[target]]))
    lanes = placed.lanes[number]
    for step, lane in enumerate(reversed(lanes or [])):
        layer = placed.layer[target] - 1 - step
        points.append((x0 + lane, bottom - placed.layer_bottom[layer]))
        points.append((x0 + lane, bottom - placed.layer_top[layer]))
    x = x0 + placed.x[source] + at_source
    points.append((x, bottom - placed.layer_bottom[placed.layer[source]]))
    is_port = placed.layer[source] == 0 and _height(inside, source) == 0.0
    points.append((x, frame[1] if is_port else bottom - placed.top[source] - _height(inside, source)))
    return [(*a, *b) for a, b in pairwise(points) if a != b]


def _height(inside: _Inside, i: int) -> float:
    placed = inside.placed
    middle = (placed.layer_top[placed.layer[i]] + placed.layer_bottom[placed.layer[i]]) / 2
    return 2 * (middle - placed.top[i])
