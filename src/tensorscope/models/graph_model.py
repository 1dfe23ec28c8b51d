"""What the graph view shows: boxes with their texts, edges and parameters, for what is expanded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.cancelling import Cancelled
from tensorscope.compute.graph_compound import Compound, Size, compound
from tensorscope.compute.graph_condense import BOX, CLUSTER, OP, Condensed, condense
from tensorscope.compute.graph_outline import FOLD, MODULE, PART, Outline
from tensorscope.core.errors import DataError
from tensorscope.core.units import format_bytes
from tensorscope.models.graph_data import GraphData, short_name
from tensorscope.models.selection import Selection
from tensorscope.models.session_store import Record, SessionStore

MAX_CHIPS = 4
MIN_BOX_PX, MAX_BOX_PX = 84.0, 236.0


@dataclass(frozen=True)
class TextSizes:
    """Widths of characters (ASCII by code, then any other) and the height of a line, in px.

    And the words that stand in boxes, in the language of the person.
    """

    widths: tuple[float, ...] = (7.0,) * 129
    line: float = 15.0
    ops: tuple[str, str] = ("1 op", "{count} ops")
    params: tuple[str, str] = ("1 param", "{count} params")

    def counted(self, words: tuple[str, str], count: int) -> str:
        """Return ``1 op`` or ``12 ops``."""
        return words[0] if count == 1 else words[1].format(count=f"{count:,}")

    def width(self, text: str) -> float:
        """Return the width of `text`."""
        if text.isascii():
            return sum(map(self.widths.__getitem__, text.encode()))
        return sum(self.widths[min(ord(character), 128)] for character in text)


@dataclass(frozen=True, eq=False)
class GraphPicture:
    """Everything that is drawn, by item. A cluster comes before what it holds.

    Attributes
    ----------
    box_x1
        Right edge of the box itself; parameters stand between it and ``geometry.x1``.
    titles, lines, sizes_text
        Title, second line and saved bytes of each item.
    out_shape
        Shape of what leaves a collapsed module, "" if unknown.
    chip_item, chip_node, chip_text
        Parameters at the items that use them; node -1 says that there are more.
    """

    data: GraphData
    expanded: frozenset[str]
    shown: Condensed
    geometry: Compound
    box_x1: NDArray[np.float64]
    titles: list[str]
    lines: list[str]
    sizes_text: list[str]
    out_shape: list[str]
    saved_bytes: NDArray[np.int64]
    backward_ns: NDArray[np.int64]
    chip_item: NDArray[np.int64]
    chip_node: NDArray[np.int64]
    chip_text: list[str]
    text_sizes: TextSizes

    @property
    def count(self) -> int:
        """Number of items."""
        return self.shown.count

    def bounds(self) -> tuple[float, float, float, float]:
        """Return left, top, right and bottom of everything."""
        shape = self.geometry
        if not self.count:
            return 0.0, 0.0, 1.0, 1.0
        return float(shape.x0.min()), float(shape.y0.min()), float(shape.x1.max()), float(shape.y1.max())

    def span(self, item: int) -> tuple[int, int]:
        """Return the positions that an item stands for."""
        place, group = self.shown.place[item], self.shown.group[item]
        outline = self.data.outline
        return (place, place + 1) if group < 0 else (outline.start[group], outline.stop[group])

    def key(self, item: int) -> str:
        """Return the key of an item's group, or of a node's position."""
        group = self.shown.group[item]
        return self.data.outline.key(group) if group >= 0 else f"node:{self.shown.place[item]}"

    def node(self, item: int) -> int:
        """Return the node of an operation, -1 for anything else."""
        place = self.shown.place[item]
        return int(self.data.outline.order[place]) if place >= 0 else -1

    def module(self, item: int) -> str:
        """Return the module path of an item."""
        group = self.shown.group[item]
        if group >= 0:
            return self.data.outline.path[group]
        return self.data.text("node_module", self.node(item))

    def item_of_node(self, node: int) -> int:
        """Return the innermost item that shows a node; that of its first consumer for a parameter."""
        data = self.data
        if not 0 <= node < data.count:
            return -1
        place = int(data.outline.position[node])
        if place < 0:
            uses = np.flatnonzero(data.chips[1] == node)
            place = int(data.chips[0][uses[0]]) if len(uses) else -1
        return int(self.shown.item_at[place]) if place >= 0 else -1

    def item_of_module(self, path: str) -> int:
        """Return the item that shows a module best: itself, else the smallest one that holds it."""
        best, length = -1, -1
        for item in range(self.count):
            mine = self.module(item)
            held = path == mine or path.startswith(mine + ".")
            if self.shown.group[item] >= 0 and held and len(mine) > length:
                best, length = item, len(mine)
        if best >= 0:
            return best
        names = self.data.texts("node_module")
        inside = [node for node, name in enumerate(names) if name == path or name.startswith(path + ".")]
        return self.item_of_node(inside[0]) if inside and path else -1

    def innermost_edges(self) -> list[tuple[int, int]]:
        """Return (producer, consumer) of innermost items, each pair once."""
        place, at = self.data.outline.position, self.shown.item_at
        source, target = place[self.data.edge_to], place[self.data.edge_from]
        inner = (source >= 0) & (target >= 0)
        pairs = np.stack([at[source[inner]], at[target[inner]]], axis=1)
        return [(a, b) for a, b in np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0).tolist()]

    def linked(self, item: int, forward: bool) -> NDArray[np.int64]:
        """Return the innermost items that use what `item` makes (forward), or make what it uses."""
        start, stop = self.span(item)
        place = self.data.outline.position
        consumer, producer = place[self.data.edge_from], place[self.data.edge_to]
        near, far = (producer, consumer) if forward else (consumer, producer)
        crossing = (near >= start) & (near < stop) & (far >= 0) & ((far < start) | (far >= stop))
        return np.unique(self.shown.item_at[far[crossing]])

    def item_of(self, selection: Selection) -> int:
        """Return the item that shows what is selected, -1 if none does."""
        item = self.item_of_node(selection.node)
        if item < 0 and selection.tensor:
            item = self.item_of_node(self.data.node_of_param(selection.tensor.removesuffix(".grad")))
        if item < 0 and selection.storage:
            item = self.item_of_node(self.data.node_of_storage(selection.storage))
        if item < 0 and selection.module:
            item = self.item_of_module(selection.module)
        return item


@dataclass(frozen=True, eq=False)
class GraphSnapshot:
    """The graph of the newest deep step up to the one that is shown."""

    data: GraphData | None = None
    step: int = -1
    stale_steps: int = 0
    problem: str = ""
    facts: dict[str, object] = field(default_factory=dict)


class GraphModel:
    """Finds the graph to show; keeps the one it saw last."""

    def __init__(self) -> None:
        self._record: Record | None = None
        self._data: GraphData | None = None
        self._problem = ""

    def resolve(self, store: SessionStore, step: int) -> GraphSnapshot:
        """Return the graph of the newest capture at or before `step`."""
        record = store.record_at("graph", step)
        if record is None:
            return GraphSnapshot()
        if record is not self._record:
            self._record, self._data, self._problem = record, None, ""
            try:
                self._data = GraphData(record, store.string)
            except DataError as error:
                self._problem = str(error)
        stale = max(0, step - record.step)
        return GraphSnapshot(self._data, record.step, stale, self._problem, dict(record.meta))


def picture_of(
    data: GraphData, expanded: frozenset[str], text: TextSizes, cancelled: Cancelled = lambda: False
) -> GraphPicture:
    """Lay out the graph with the groups of `expanded` open. Any thread."""
    outline = data.outline
    shown = condense(outline, expanded, data.edge_from, data.edge_to)
    starts, stops = _spans(shown, outline)
    saved, spent = (sums[stops] - sums[starts] for sums in data.sums)
    titles = [_title(data, shown, item) for item in range(shown.count)]
    lines = [
        _line(data, shown, item, int(starts[item]), int(stops[item]), text) for item in range(shown.count)
    ]
    bytes_text = [format_bytes(int(n)) if n else "" for n in saved]
    chips = _chips(data, shown)
    sizes, chip_width = _sizes(shown, titles, lines, bytes_text, chips, text)
    geometry = compound(shown, sizes, 1.6 * text.line, cancelled)
    return GraphPicture(
        data, expanded, shown, geometry, geometry.x1 - chip_width, titles, lines, bytes_text,
        [_out_shape(data, shown, item) for item in range(shown.count)], saved, spent,
        np.array([c[0] for c in chips], np.int64), np.array([c[1] for c in chips], np.int64),
        [c[2] for c in chips], text,
    )  # fmt: skip


def _spans(shown: Condensed, outline: Outline) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    starts = [p if g < 0 else outline.start[g] for g, p in zip(shown.group, shown.place, strict=True)]
    stops = [p + 1 if g < 0 else outline.stop[g] for g, p in zip(shown.group, shown.place, strict=True)]
    return np.array(starts, np.int64), np.array(stops, np.int64)


def _title(data: GraphData, shown: Condensed, item: int) -> str:
    outline, group = data.outline, shown.group[item]
    if group < 0:
        return short_name(data.text("node_name", int(outline.order[shown.place[item]])))
    around = shown.parent[item]
    above = outline.path[shown.group[around]] if around >= 0 else ""
    if around >= 0 and outline.kind[shown.group[around]] != MODULE:
        above = above.rpartition(".")[0]
    name = relative(outline.path[group], above)
    if outline.kind[group] == FOLD:
        last = outline.last_path[group]
        run = name if last == outline.path[group] else f"{name} … {last.rsplit('.', 1)[-1]}"
        return f"{run}  × {outline.count[group]}"
    if outline.kind[group] == PART:
        return f"{name} {outline.start[group]:,} … {outline.stop[group] - 1:,}".strip()
    return name


def relative(path: str, above: str) -> str:
    """Return `path` as it reads inside of `above`; a bare number keeps the name before it."""
    if path == above:
        return path.rsplit(".", 1)[-1]
    name = path[len(above) + 1 :] if above and path.startswith(above + ".") else path
    return f"{above.rsplit('.', 1)[-1]}.{name}" if name[:1].isdigit() else name


def _line(data: GraphData, shown: Condensed, item: int, start: int, stop: int, text: TextSizes) -> str:
    if shown.group[item] < 0:
        return data.text("node_shape", int(data.outline.order[shown.place[item]]))
    ops, params = text.counted(text.ops, stop - start), len(data.params(start, stop))
    return f"{ops} · {text.counted(text.params, params)}" if params else ops


def _out_shape(data: GraphData, shown: Condensed, item: int) -> str:
    """Return the shape of what a collapsed group gives: that of its node nearest to the loss."""
    group = shown.group[item]
    if group < 0 or shown.kind[item] == CLUSTER:
        return ""
    return data.text("node_shape", int(data.outline.order[data.outline.start[group]]))


def _chips(data: GraphData, shown: Condensed) -> list[tuple[int, int, str]]:
    """Return (item, node, text) of the parameters at operations, at most `MAX_CHIPS` an item."""
    places, nodes = data.chips
    chips: list[tuple[int, int, str]] = []
    used: dict[int, int] = {}
    for place, node in zip(places.tolist(), nodes.tolist(), strict=True):
        item = int(shown.item_at[place])
        if shown.kind[item] != OP:
            continue
        used[item] = used.get(item, 0) + 1
        if used[item] > MAX_CHIPS:
            if used[item] == MAX_CHIPS + 1:
                chips.append((item, -1, "…"))
            continue
        name = data.text("node_param", node) or "leaf"
        module = data.text("node_module", int(data.outline.order[place]))
        chips.append((item, node, relative(name, module) if module else name))
    return chips


def _sizes(
    shown: Condensed, titles: Sequence[str], lines: Sequence[str], bytes_text: Sequence[str],
    chips: Sequence[tuple[int, int, str]], text: TextSizes,
) -> tuple[list[Size], NDArray[np.float64]]:  # fmt: skip
    """Return the room of every item, and how much of it at the right belongs to its parameters."""
    chip_width, chip_rows = np.zeros(shown.count), np.zeros(shown.count)
    for item, _, name in chips:
        chip_width[item] = max(chip_width[item], min(text.width(name), 150.0) + 22)
        chip_rows[item] += 1
    sizes = []
    for item in range(shown.count):
        if shown.kind[item] == CLUSTER:
            title = text.width(titles[item]) + text.width(bytes_text[item])
            sizes.append(Size(title / 2 + 22, title / 2 + 22, 0.0))
            continue
        second = text.width(lines[item]) + (text.width(bytes_text[item]) + 14 if bytes_text[item] else 0)
        mark = 16 if shown.kind[item] == BOX else 0
        need = max(1.22 * text.width(titles[item]) + mark, second) + 20
        half = min(max(need, MIN_BOX_PX), MAX_BOX_PX) / 2
        rows = max(2.0 * text.line + 9, chip_rows[item] * (text.line + 4))
        sizes.append(Size(half, half + chip_width[item], rows))
    return sizes, chip_width
