"""A layered layout for graphs that already stand in an order in which every edge points forward.

No recursion, no random numbers: equal graphs give equal pictures. Every step costs a few visits of
every entry and edge, and of the dummies that keep lanes free for edges across several layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tensorscope.compute.cancelling import Cancelled, CancelledError

SWEEPS = 4
MAX_SPAN = 64
"""Edges across more layers than this are drawn straight, without a lane of their own."""
LANE_WEIGHT, SIDE_WEIGHT = 4.0, 0.25
"""Lanes and ports run straight; a source that only one entry uses stands aside of the main line."""
PULL = 0.97
"""Every wish is drawn a little to the middle: without it, long graphs drift sideways."""
LAYER_GAP_PX, PORT_GAP_PX, SIDE_GAP_PX, LANE_PX = 26.0, 9.0, 16.0, 5.0

STILL_PX = 0.25

Links = list[list[tuple[int, float, float]]]
"""For each entry: (neighbour, offset here, offset there)."""
Pull = tuple[list[tuple[int, float]], float, float]
"""Neighbours with their weights, the weighted sum of the offsets to them, and the sum of the weights."""


@dataclass
class Shapes:
    """Room that each entry needs left and right of its wire, and its height; all in px."""

    left: list[float]
    right: list[float]
    height: list[float]


@dataclass
class Placed:
    """Where things are. y grows from the loss (0) to the inputs; the caller turns it over.

    Attributes
    ----------
    x, top
        Wire and upper edge of each entry.
    layer, layer_top, layer_bottom
        Layer of each entry, and the extent of each layer.
    lanes
        For each edge the x of its dummies, from the loss on; None for an edge drawn straight.
    visits
        How many entries, dummies and edges were visited, for tests of the cost.
    """

    x: list[float]
    top: list[float]
    layer: list[int]
    layer_top: list[float]
    layer_bottom: list[float]
    lanes: list[list[float] | None]
    height: float
    visits: int


def place(
    shapes: Shapes,
    edges: Sequence[tuple[int, int]],
    offsets: Sequence[tuple[float, float]],
    first: int,
    last: int,
    cancelled: Cancelled = lambda: False,
) -> Placed:
    """Lay out entries 0..n-1, with every edge going to a higher entry.

    Parameters
    ----------
    offsets
        For each edge, how far from the wire of its two entries it is attached.
    first, last
        The first `first` entries get the first layer to themselves, the last `last` the last one.
    """
    return _Layout(shapes, edges, offsets, cancelled).run(first, last)


class _Layout:
    def __init__(
        self, shapes: Shapes, edges: Sequence[tuple[int, int]], offsets: Sequence[tuple[float, float]],
        cancelled: Cancelled,
    ) -> None:  # fmt: skip
        self.count = len(shapes.height)
        self.left, self.right, self.height = list(shapes.left), list(shapes.right), list(shapes.height)
        self.edges, self.offsets, self.cancelled = edges, offsets, cancelled
        self.visits = 0

    def run(self, first: int, last: int) -> Placed:
        self.layer = self.longest_paths(first, last)
        self.add_dummies()
        self.weight = self.weights(first, last)
        self.rows = self.first_order()
        self.sweep_orders()
        x = self.sweep_places()
        layer_top, layer_bottom = self.layer_extents()
        middle = [(a + b) / 2 for a, b in zip(layer_top, layer_bottom, strict=True)]
        top = [middle[self.layer[i]] - self.height[i] / 2 for i in range(self.count)]
        lanes = [None if chain is None else [x[dummy] for dummy in chain] for chain in self.chains]
        return Placed(
            x[: self.count], top, self.layer[: self.count], layer_top, layer_bottom, lanes,
            layer_bottom[-1] if layer_bottom else 0.0, self.visits,
        )  # fmt: skip

    def visit(self, number: int) -> None:
        self.visits += number
        if self.cancelled():
            raise CancelledError

    def longest_paths(self, first: int, last: int) -> list[int]:
        """Give each entry the layer just below the deepest of those that use it."""
        self.visit(self.count + len(self.edges))
        layer = [0] * first + [min(first, 1)] * (self.count - first)
        for source, target in sorted(self.edges):
            layer[target] = max(layer[target], layer[source] + 1)
        if last:
            deepest = max(layer[: self.count - last], default=-1) + 1
            layer[self.count - last :] = [deepest] * last
        return layer

    def add_dummies(self) -> None:
        """Replace edges across layers by chains; links keep (neighbour, own offset, its offset)."""
        budget = 20_000 + 8 * (self.count + len(self.edges))
        self.up: Links = [[] for _ in range(self.count)]
        self.down: Links = [[] for _ in range(self.count)]
        self.chains: list[list[int] | None] = []
        for (source, target), (at_source, at_target) in zip(self.edges, self.offsets, strict=True):
            span = self.layer[target] - self.layer[source]
            if span > MAX_SPAN or span > budget:
                self.chains.append(None)
                continue
            budget -= span
            chain = [self.dummy(self.layer[source] + step) for step in range(1, span)]
            self.chains.append(chain)
            ends = [source, *chain, target]
            for a, b in pairwise(ends):
                offset_a = at_source if a == source else 0.0
                offset_b = at_target if b == target else 0.0
                self.down[a].append((b, offset_a, offset_b))
                self.up[b].append((a, offset_b, offset_a))
        self.visit(len(self.layer))

    def weights(self, first: int, last: int) -> list[float]:
        """Say how much each entry and dummy counts as a neighbour, and holds to its own wish."""
        weight = [SIDE_WEIGHT if not below else 1.0 for below in self.down[: self.count]]
        weight[:first] = [LANE_WEIGHT] * first
        if last:
            weight[-last:] = [LANE_WEIGHT] * last
        return weight + [LANE_WEIGHT] * (len(self.layer) - self.count)

    def dummy(self, layer: int) -> int:
        self.layer.append(layer)
        self.left.append(LANE_PX)
        self.right.append(LANE_PX)
        self.height.append(0.0)
        self.up.append([])
        self.down.append([])
        return len(self.layer) - 1

    def first_order(self) -> list[list[int]]:
        """Order each layer by the first visit of a depth-first walk from the loss."""
        rows: list[list[int]] = [[] for _ in range(max(self.layer, default=-1) + 1)]
        seen = bytearray(len(self.layer))
        for head in range(len(self.layer)):
            if self.up[head] or seen[head]:
                continue
            stack = [head]
            while stack:
                at = stack.pop()
                if seen[at]:
                    continue
                seen[at] = 1
                rows[self.layer[at]].append(at)
                stack += [below for below, _, _ in reversed(self.down[at]) if not seen[below]]
        self.visit(len(self.layer))
        return rows

    def sweep_orders(self) -> None:
        """Sort layers by the mean place of their neighbours, down and up in turn."""
        place = [0.0] * len(self.layer)
        for row in self.rows:
            for i, at in enumerate(row):
                place[at] = i - len(row) / 2
        for sweep in range(SWEEPS):
            links, rows = (self.up, self.rows) if sweep % 2 == 0 else (self.down, self.rows[::-1])
            for row in rows:
                if len(row) > 1:
                    wish = {
                        at: sum(place[n] for n, _, _ in links[at]) / len(links[at])
                        if links[at]
                        else place[at]
                        for at in row
                    }
                    row.sort(key=wish.__getitem__)
                for i, at in enumerate(row):
                    place[at] = i - len(row) / 2
            self.visit(len(self.layer))

    def sweep_places(self) -> list[float]:
        """Move each layer towards its neighbours, keeping order and room."""
        x = [0.0] * len(self.layer)
        for row in self.rows:
            self.settle(row, [0.0] * len(row), x)
        up, down = self.pulls(self.up), self.pulls(self.down)
        for _ in range(SWEEPS - 1):
            before = x.copy()
            self.sweep(self.rows, up, x)
            self.sweep(self.rows[::-1], down, x)
            if all(abs(a - b) < STILL_PX for a, b in zip(before, x, strict=True)):
                break
        both = [
            (above[0] + below[0], above[1] + below[1], above[2] + below[2])
            for above, below in zip(up, down, strict=True)
        ]
        self.sweep(self.rows, both, x)
        self.sweep(self.rows[::-1], both, x)
        return x

    def pulls(self, side: Links) -> list[Pull]:
        """Return how the neighbours on one side pull each entry."""
        weight, found = self.weight, []
        for links in side:
            shares = [(other, weight[other]) for other, _, _ in links]
            shift = sum(weight[other] * (its - own) for other, own, its in links)
            found.append((shares, shift, sum(share for _, share in shares)))
        return found

    def sweep(self, rows: list[list[int]], pulls: list[Pull], x: list[float]) -> None:
        """Move every layer of `rows` in turn to where its neighbours pull it."""
        for row in rows:
            wishes = []
            for at in row:
                shares, total, weight = pulls[at]
                if not weight:
                    wishes.append(x[at])
                    continue
                for other, share in shares:
                    total += share * x[other]
                wishes.append(PULL * total / weight)
            self.settle(row, wishes, x)
        self.visit(len(self.layer))

    def settle(self, row: list[int], wishes: list[float], x: list[float]) -> None:
        """Give a layer the places nearest to its wishes that keep the room of each (isotonic regression)."""
        if len(row) == 1:
            x[row[0]] = wishes[0]
            return
        shifts, shift = [], 0.0
        for i, at in enumerate(row):
            if i:
                shift += self.right[row[i - 1]] + self.left[at] + SIDE_GAP_PX
            shifts.append(shift)
        if all(b - a >= d - c for a, b, c, d in zip(wishes, wishes[1:], shifts, shifts[1:], strict=False)):
            for at, wish in zip(row, wishes, strict=True):
                x[at] = wish
            return
        blocks: list[tuple[float, float, int]] = []  # weighted sum, weight, entries
        for i, at in enumerate(row):
            weight = self.weight[at]
            block = (weight * (wishes[i] - shifts[i]), weight, 1)
            while blocks and blocks[-1][0] * block[1] > block[0] * blocks[-1][1]:
                total, more, entries = blocks.pop()
                block = (total + block[0], more + block[1], entries + block[2])
            blocks.append(block)
        i = 0
        for total, weight, entries in blocks:
            for at in row[i : i + entries]:
                x[at] = total / weight + shifts[i]
                i += 1

    def layer_extents(self) -> tuple[list[float], list[float]]:
        tops: list[float] = []
        bottoms: list[float] = []
        for row in self.rows:
            tall = max((self.height[at] for at in row), default=0.0)
            gap = LAYER_GAP_PX if tall and bottoms and bottoms[-1] > tops[-1] else PORT_GAP_PX
            tops.append(bottoms[-1] + gap if bottoms else 0.0)
            bottoms.append(tops[-1] + tall)
        return tops, bottoms
