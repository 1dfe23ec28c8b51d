"""An autograd graph as a tree of modules over one line of nodes: what can be shown collapsed.

The nodes that are no parameters stand in one order from the loss to the inputs in which every edge
points forward. Every group is a stretch of that order, so that a graph of any set of groups has no
cycles, however often a module was called.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]

MODULE, FOLD, PART = range(3)
"""A call of a module; identical neighbours shown as one; a stretch of a very long list."""
MIN_FOLD = 3
MAX_MEMBERS, PART_MEMBERS = 120, 100
_LAST_NUMBER = re.compile(r"\d+$")


@dataclass
class Outline:
    """Groups as columns; group 0 is the whole graph. Ancestors come before what they hold.

    Attributes
    ----------
    order, position
        Node at each position, and position of each node (-1 for parameters).
    start, stop
        Positions of each group, half open.
    members
        Child groups of each group, by start; nodes between them belong to the group itself.
    """

    order: Longs
    position: Longs
    kind: list[int] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    stop: list[int] = field(default_factory=list)
    members: list[list[int]] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    last_path: list[str] = field(default_factory=list)

    def add(self, kind: int, path: str, start: int, stop: int, members: list[int], count: int = 1) -> int:
        """Append a group and return its number."""
        self.kind.append(kind)
        self.path.append(path)
        self.start.append(start)
        self.stop.append(stop)
        self.members.append(members)
        self.count.append(count)
        self.last_path.append(path)
        return len(self.kind) - 1

    def size(self, group: int) -> int:
        """Return how many nodes a group holds."""
        return self.stop[group] - self.start[group]

    def key(self, group: int) -> str:
        """Return a name of a group that is the same for the next graph of the same program."""
        return f"{self.kind[group]}:{self.path[group]}:{self.start[group]}:{self.stop[group]}"

    def entries(self, group: int) -> list[tuple[int, int]]:
        """Return (child group, -1) and (-1, position of a node of its own), in order."""
        found: list[tuple[int, int]] = []
        at = self.start[group]
        for member in self.members[group]:
            found += [(-1, place) for place in range(at, self.start[member])]
            found.append((member, -1))
            at = self.stop[member]
        found += [(-1, place) for place in range(at, self.stop[group])]
        return found


def forward_order(is_param: NDArray[np.bool_], seq: Longs, edge_from: Longs, edge_to: Longs) -> Longs:
    """Return the nodes that are no parameters so that every edge points forward, the loss first.

    The autograd sequence numbers give it, and keep the nodes of one module together. Where they do
    not (several threads, graphs without numbers), a depth-first walk does.
    """
    nodes = np.flatnonzero(~is_param)
    order = nodes[np.argsort(-seq[nodes], kind="stable")]
    position = np.full(len(is_param), -1, np.int64)
    position[order] = np.arange(len(order))
    inner = ~is_param[edge_from] & ~is_param[edge_to]
    numbered = (np.diff(seq[order]) < 0).all()
    if numbered and (position[edge_from[inner]] < position[edge_to[inner]]).all():
        return order.astype(np.int64)
    return _walked_order(nodes, edge_from[inner], edge_to[inner], len(is_param))


def _walked_order(nodes: Longs, edge_from: Longs, edge_to: Longs, count: int) -> Longs:
    """Return the reverse of the order in which a depth-first walk leaves the nodes; cycles are cut."""
    targets = adjacency(edge_from, edge_to, count)
    left: list[int] = []
    seen = bytearray(count)
    heads = np.setdiff1d(nodes, edge_to)
    for head in [*heads.tolist(), *nodes.tolist()]:
        if seen[head]:
            continue
        seen[head] = 1
        stack = [(head, iter(targets[head]))]
        while stack:
            node, rest = stack[-1]
            for target in rest:
                if not seen[target]:
                    seen[target] = 1
                    stack.append((target, iter(targets[target])))
                    break
            else:
                left.append(node)
                stack.pop()
    return np.array(left[::-1], np.int64)


def adjacency(edge_from: Longs, edge_to: Longs, count: int) -> list[list[int]]:
    """Return the targets of each node, in the order of the edges."""
    targets: list[list[int]] = [[] for _ in range(count)]
    for source, target in zip(edge_from.tolist(), edge_to.tolist(), strict=True):
        targets[source].append(target)
    return targets


def build_outline(
    order: Longs, module: Sequence[str], call: Sequence[int], signature: Sequence[int],
    edge_from: Longs, edge_to: Longs,
) -> Outline:  # fmt: skip
    """Return the tree of module calls over `order`.

    Parameters
    ----------
    module, call, signature
        Of every node: dotted module path, number of the call, and a number that is equal for nodes
        that do the same to the same shapes.
    edge_from, edge_to
        Edges by node.
    """
    position = np.full(len(module), -1, np.int64)
    position[order] = np.arange(len(order))
    outline = Outline(order, position)
    _add_modules(outline, module, call)
    reach = _edge_reach(outline, signature, edge_from, edge_to)
    for group in range(len(outline.kind) - 1, -1, -1):
        outline.members[group] = _folded(outline, outline.members[group], reach)
        _cut_into_parts(outline, group)
    _skip_single_members(outline)
    return outline


def _add_modules(outline: Outline, module: Sequence[str], call: Sequence[int]) -> None:
    """Open and close groups along the order as the module path changes."""
    outline.add(MODULE, "", 0, len(outline.order), [])
    open_groups, calls, names = [0], [-1], [""]
    prefixes: dict[str, list[str]] = {"": [""]}
    for place, node in enumerate(outline.order.tolist()):
        path = module[node]
        if path == names[-1] and (path == "" or call[node] == calls[-1]):
            continue
        wanted = prefixes.get(path)
        if wanted is None:
            segments = path.split(".")
            wanted = prefixes[path] = ["", *(".".join(segments[: i + 1]) for i in range(len(segments)))]
        same = 1
        while same < min(len(names), len(wanted)) and names[same] == wanted[same]:
            same += 1
        depth = len(wanted)
        if same == depth and depth > 1 and calls[depth - 1] not in (-1, call[node]):
            same -= 1  # the same module, called again
        for group in open_groups[same:]:
            outline.stop[group] = place
        del open_groups[same:], calls[same:], names[same:]
        for prefix in wanted[same:]:
            group = outline.add(MODULE, prefix, place, len(outline.order), [])
            outline.members[open_groups[-1]].append(group)
            open_groups.append(group)
            calls.append(-1)
            names.append(prefix)
        calls[-1] = call[node]


def _edge_reach(
    outline: Outline, signature: Sequence[int], edge_from: Longs, edge_to: Longs
) -> list[tuple[int, tuple[int, ...]]]:
    """Return of every position its signature and how far each of its edges goes."""
    targets = adjacency(outline.position[edge_from], outline.position[edge_to], len(outline.order) + 1)
    return [
        (signature[node], tuple(target - place for target in targets[place] if target >= 0))
        for place, node in enumerate(outline.order.tolist())
    ]


def _folded(outline: Outline, members: list[int], reach: list[tuple[int, tuple[int, ...]]]) -> list[int]:
    """Return `members` with runs of identical neighbours replaced by one group each."""
    if len(members) < MIN_FOLD:
        return members
    looks: dict[int, int] = {}

    def alike(a: int, b: int) -> bool:
        if outline.stop[a] != outline.start[b] or outline.size(a) != outline.size(b):
            return False
        if _LAST_NUMBER.sub("#", outline.path[a]) != _LAST_NUMBER.sub("#", outline.path[b]):
            return False
        for group in (a, b):
            if group not in looks:
                looks[group] = _look(outline.start[group], outline.stop[group], reach)
        return looks[a] == looks[b]

    result: list[int] = []
    at = 0
    while at < len(members):
        end = at + 1
        while end < len(members) and alike(members[end - 1], members[end]):
            end += 1
        run = members[at:end]
        if len(run) >= MIN_FOLD:
            start, stop = outline.start[run[0]], outline.stop[run[-1]]
            fold = outline.add(FOLD, outline.path[run[-1]], start, stop, run, len(run))
            outline.last_path[fold] = outline.path[run[0]]
            _cut_into_parts(outline, fold)
            run = [fold]
        result += run
        at = end
    return result


def _look(start: int, stop: int, reach: list[tuple[int, tuple[int, ...]]]) -> int:
    """Return a number that is equal for stretches with the same nodes and the same inner edges."""
    return hash(
        tuple(
            (kind, *(step if place + step < stop else 0 for step in steps))
            for place, (kind, steps) in enumerate(reach[start:stop], start)
        )
    )


def _cut_into_parts(outline: Outline, group: int) -> None:
    """Put the members of a group that is too long to show into parts, and those into larger parts."""
    entries = outline.entries(group)
    total = len(entries)
    while len(entries) > MAX_MEMBERS:
        parts = []
        for at in range(0, len(entries), PART_MEMBERS):
            chunk = entries[at : at + PART_MEMBERS]
            start = chunk[0][1] if chunk[0][0] < 0 else outline.start[chunk[0][0]]
            stop = chunk[-1][1] + 1 if chunk[-1][0] < 0 else outline.stop[chunk[-1][0]]
            members = [member for member, _ in chunk if member >= 0]
            parts.append((outline.add(PART, outline.path[group], start, stop, members), -1))
        entries = parts
    if total > MAX_MEMBERS:
        outline.members[group] = [member for member, _ in entries]


def _skip_single_members(outline: Outline) -> None:
    """Let a child stand for a group that holds nothing else, such as a list of one fold."""
    for group in range(len(outline.kind)):
        outline.members[group] = [_only(outline, member) for member in outline.members[group]]


def _only(outline: Outline, group: int) -> int:
    while len(outline.members[group]) == 1 and outline.size(outline.members[group][0]) == outline.size(group):
        group = outline.members[group][0]
    return group
