"""Ways through a graph: what leads from a node to the loss, and what it was made from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensorscope.models.graph_data import GraphData
from tensorscope.models.graph_model import GraphPicture


def reached(data: GraphData, starts: NDArray[np.integer], towards_loss: bool) -> NDArray[np.bool_]:
    """Return which nodes lie on a way from `starts` to the loss, or to the inputs; one look at each edge.

    Parameters
    ----------
    starts
        Nodes, which are reached themselves.
    """
    near, far = (data.edge_to, data.edge_from) if towards_loss else (data.edge_from, data.edge_to)
    order = np.argsort(near, kind="stable")
    first = np.searchsorted(near[order], np.arange(data.count + 1)).tolist()
    following, found = far[order].tolist(), bytearray(data.count)
    waiting = [int(node) for node in starts]
    while waiting:
        node = waiting.pop()
        if not found[node]:
            found[node] = 1
            waiting += following[first[node] : first[node + 1]]
    return np.frombuffer(bytes(found), np.uint8) > 0


def nodes_of(picture: GraphPicture, item: int) -> NDArray[np.int64]:
    """Return the nodes that an item stands for."""
    start, stop = picture.span(item)
    return np.asarray(picture.data.outline.order[start:stop], np.int64)


def items_holding(picture: GraphPicture, nodes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which items hold any of the marked nodes; parameters count for their consumers."""
    by_place = nodes[picture.data.outline.order]
    running = np.concatenate([[0], np.cumsum(by_place)])
    spans = np.array([picture.span(item) for item in range(picture.count)], np.int64).reshape(-1, 2)
    found: NDArray[np.bool_] = running[spans[:, 1]] > running[spans[:, 0]]
    return found
