"""The backward of a step as it went: what had run at a moment, and the bytes that each node freed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorscope.models.frozen_store import StoreLike
from tensorscope.models.graph_data import GraphData
from tensorscope.models.graph_model import GraphPicture

Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BackwardReplay:
    """Nodes in the order in which they ran.

    Attributes
    ----------
    node, begin_ns, end_ns
        Times on the target's clock; a node runs from begin to end, and what it saved is freed before the
        next begins.
    freed_bytes
        Bytes freed from the begin of each node to the begin of the next one of any thread, less what was
        allocated and freed within; exact where one thread runs backward. -1 where memory was not recorded.
    """

    node: Longs
    begin_ns: Longs
    end_ns: Longs
    freed_bytes: Longs

    def __len__(self) -> int:
        return len(self.node)

    def at(self, t_ns: int) -> int:
        """Return how many nodes had begun at `t_ns`."""
        return int(np.searchsorted(self.begin_ns, t_ns, side="right"))

    def states(self, picture: GraphPicture, begun: int) -> tuple[NDArray[np.bool_], Longs]:
        """Return which items still have a node to run, and the innermost item that runs now (or none)."""
        done = np.zeros(picture.data.count, bool)
        done[self.node[: max(0, begun - 1)]] = True
        ran = np.zeros(picture.data.count, bool)
        ran[self.node] = True
        left = ran & ~done
        order = picture.data.outline.order
        running = np.concatenate([[0], np.cumsum(left[order])])
        spans = np.array([picture.span(item) for item in range(picture.count)], np.int64).reshape(-1, 2)
        lit = running[spans[:, 1]] > running[spans[:, 0]]
        now = picture.item_of_node(int(self.node[begun - 1])) if begun else -1
        return lit, np.array([now] if now >= 0 else [], np.int64)


def backward_replay(data: GraphData, store: StoreLike) -> BackwardReplay | None:
    """Return the replay of a graph's backward, None where its nodes were not timed."""
    begin = data.record.columns.get("node_begin_ns")
    if begin is None:
        return None
    rows = np.flatnonzero(begin > 0)
    if not len(rows):
        return None
    rows = rows[np.argsort(begin[rows], kind="stable")].astype(np.int64)
    starts = begin[rows].astype(np.int64)
    ends = starts + np.maximum(data.backward_ns[rows], 0)
    return BackwardReplay(rows, starts, ends, _freed(starts, ends, store))


def _freed(starts: Longs, ends: Longs, store: StoreLike) -> Longs:
    """Return the bytes of blocks from before that were freed in each node's time."""
    alloc = store.tables["alloc"]
    until = np.append(starts[1:], ends.max(initial=0))
    low, high = np.searchsorted(alloc["t_ns"], [starts[0], until[-1]])
    if low == high:
        return np.full(len(starts), -1, np.int64)
    t_ns, delta, address = (alloc[name][low:high] for name in ("t_ns", "delta_bytes", "address"))
    owner = np.searchsorted(starts, t_ns, side="right") - 1
    freed = np.zeros(len(starts), np.int64)
    born: dict[int, int] = {}
    for at, size, node in zip(address.tolist(), delta.tolist(), owner.tolist(), strict=True):
        if size > 0:
            born[at] = node
        elif born.pop(at, -1) != node:
            freed[node] -= size
    return freed
