"""Which groups of a graph are open: at first sight, one level more, around a node, or by name."""

from __future__ import annotations

import numpy as np

from tensorscope.compute.cancelling import Cancelled
from tensorscope.compute.graph_condense import BOX
from tensorscope.core.errors import DataError
from tensorscope.models.graph_data import GraphData
from tensorscope.models.graph_model import GraphPicture, TextSizes, picture_of

MAX_FIRST_ITEMS = 150


def first_picture(
    data: GraphData, text: TextSizes, room: tuple[float, float], cancelled: Cancelled = lambda: False
) -> GraphPicture:
    """Return the deepest level of modules that `room` (px, at the least readable scale) still shows."""
    best = picture_of(data, frozenset(), text, cancelled)
    while True:
        wider = one_level_more(best)
        if wider == best.expanded:
            return best
        next_one = picture_of(data, wider, text, cancelled)
        left, top, right, bottom = next_one.bounds()
        too_large = right - left > room[0] or bottom - top > room[1]
        if next_one.count > MAX_FIRST_ITEMS or too_large:
            return best
        best = next_one


def one_level_more(picture: GraphPicture, within: int = -1) -> frozenset[str]:
    """Return the expanded keys with every visible collapsed module (inside of item `within`) open."""
    outline, more = picture.data.outline, set(picture.expanded)
    start, stop = picture.span(within) if within >= 0 else (0, len(outline.order))
    for item in range(picture.count):
        if picture.shown.kind[item] == BOX:
            first, last = picture.span(item)
            if start <= first and last <= stop:
                more.add(picture.key(item))
    return frozenset(more)


def expanded_to(data: GraphData, expanded: frozenset[str], node: int) -> frozenset[str]:
    """Return the expanded keys with every group around `node` open."""
    outline = data.outline
    place = int(outline.position[node])
    if place < 0:
        uses = np.flatnonzero(data.chips[1] == node)
        place = int(data.chips[0][uses[0]]) if len(uses) else -1
    keys, group = set(expanded), 0
    while place >= 0:
        inner = [m for m in outline.members[group] if outline.start[m] <= place < outline.stop[m]]
        if not inner:
            break
        group = inner[0]
        keys.add(outline.key(group))
    return frozenset(keys)


def expanded_by(data: GraphData, what: str) -> frozenset[str]:
    """Return the expanded keys that a person names.

    Parameters
    ----------
    what
        ``all``, ``none``, ``depth:2`` (so many levels), or a module path: all inside of it.

    Raises
    ------
    DataError
        If there is no such module.
    """
    outline = data.outline
    groups = range(len(outline.kind))
    if what in ("all", "none"):
        return frozenset(map(outline.key, groups)) if what == "all" else frozenset()
    if what.startswith("depth:") and what[6:].isdigit():
        level, found = [0], set[int]()
        for _ in range(int(what[6:]) + 1):
            found.update(level)
            level = [member for group in level for member in outline.members[group]]
        return frozenset(map(outline.key, found))
    inside = [g for g in groups if outline.path[g] == what or outline.path[g].startswith(what + ".")]
    if not inside:
        raise DataError(f"the graph has no module {what!r}: name one, or all, none, or depth:N")
    spans = [(outline.start[g], outline.stop[g]) for g in inside]
    around = [g for g in groups if any(_holds(outline.start[g], outline.stop[g], span) for span in spans)]
    return frozenset(map(outline.key, {*inside, *around}))


def _holds(start: int, stop: int, span: tuple[int, int]) -> bool:
    return start <= span[0] and span[1] <= stop
