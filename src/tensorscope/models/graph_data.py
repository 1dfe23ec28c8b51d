"""One ``graph`` record, checked, with its outline: everything that does not depend on what is expanded."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.graph_outline import Longs, Outline, build_outline, forward_order
from tensorscope.core.errors import DataError
from tensorscope.models.session_store import Record

_SUFFIX = re.compile(r"(Backward)?\d*$")


def short_name(name: str) -> str:
    """Return ``Addmm`` for ``AddmmBackward0``."""
    tail = name.rsplit("::", 1)[-1]
    return _SUFFIX.sub("", tail) or tail


class GraphData:
    """Columns of a graph record with strings looked up. Immutable; any thread may read it."""

    def __init__(self, record: Record, string: Callable[[int], str]) -> None:
        columns = record.columns
        self.record = record
        self.count = len(columns["node_name"])
        _check(columns, self.count)
        texts: dict[int, str] = {}
        for name in ("node_name", "node_module", "node_param", "node_shape", "node_dtype", "node_source"):
            texts.update((int(i), string(int(i))) for i in np.unique(columns[name]))
        for name in ("saved_name", "saved_shape", "saved_dtype"):
            texts.update((int(i), string(int(i))) for i in np.unique(columns[name]))
        self._texts = texts
        self.saved_bytes: Longs = columns["node_saved_bytes"]
        self.backward_ns: Longs = columns["node_backward_ns"]
        self.edge_from = columns["edge_from"].astype(np.int64)
        self.edge_to = columns["edge_to"].astype(np.int64)
        self.is_param = self._leaves()

    def _leaves(self) -> NDArray[np.bool_]:
        """Return which nodes accumulate a gradient and lead nowhere: they are drawn at their consumers."""
        columns = self.record.columns
        named = columns["node_param"] != 0
        accumulates = {i for i, text in self._texts.items() if text.endswith("AccumulateGrad")}
        leaf: NDArray[np.bool_] = named | np.isin(columns["node_name"], list(accumulates))
        leaf[self.edge_from] = False
        return leaf

    def text(self, column: str, row: int) -> str:
        """Return a *string* column's text of one row."""
        return self._texts[int(self.record.columns[column][row])]

    def all_texts(self) -> Mapping[int, str]:
        """Return every text of the graph by its string id."""
        return self._texts

    def texts(self, column: str) -> list[str]:
        """Return a whole *string* column."""
        return [self._texts[i] for i in self.record.columns[column].tolist()]

    @cached_property
    def outline(self) -> Outline:
        """The tree of modules; takes a moment for large graphs, so ask for it off the GUI thread."""
        columns = self.record.columns
        order = forward_order(self.is_param, columns["node_seq"], self.edge_from, self.edge_to)
        kinds = columns["node_name"].astype(np.int64) << 32 | columns["node_shape"]
        return build_outline(
            order, self.texts("node_module"), columns["node_call"].tolist(), kinds.tolist(),
            self.edge_from, self.edge_to,
        )  # fmt: skip

    @cached_property
    def chips(self) -> tuple[Longs, Longs]:
        """Position of the consumer and node of every use of a parameter, by position."""
        place = self.outline.position[self.edge_from]
        uses = self.is_param[self.edge_to] & (place >= 0)
        order = np.argsort(place[uses], kind="stable")
        return place[uses][order], self.edge_to[uses][order]

    @cached_property
    def sums(self) -> tuple[Longs, Longs]:
        """Running sums over positions of saved bytes and of backward time (untimed: 0)."""
        order = self.outline.order
        saved, spent = self.saved_bytes[order], np.maximum(self.backward_ns[order], 0)
        return tuple(np.concatenate([[0], np.cumsum(each)]) for each in (saved, spent))  # type: ignore[return-value]

    @cached_property
    def grad_norm(self) -> NDArray[np.float64] | None:
        """Norm of the gradient that each node received, NaN where not known; None if none was measured."""
        if not self.record.meta.get("gradients"):
            return None
        found: NDArray[np.float64] | None = self.record.columns.get("node_grad_norm")
        return found

    @property
    def timed(self) -> bool:
        """Whether the backward of any node was timed."""
        return bool((self.backward_ns >= 0).any())

    def params(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the parameter nodes used between two positions, each once, in order of use."""
        places, nodes = self.chips
        begin, end = np.searchsorted(places, [start, stop])
        unique, first = np.unique(nodes[begin:end], return_index=True)
        return unique[np.argsort(first)].astype(np.int64)

    def saved_rows(self, node: int) -> NDArray[np.intp]:
        """Return the saved tensors of a node."""
        return np.flatnonzero(self.record.columns["saved_node"] == node)

    def node_of_storage(self, address: int) -> int:
        """Return the first node that saved the storage at `address`, -1 if none."""
        rows = np.flatnonzero(self.record.columns["saved_storage"] == np.uint64(address))
        return int(self.record.columns["saved_node"][rows[0]]) if address and len(rows) else -1

    @cached_property
    def _param_nodes(self) -> Mapping[str, int]:
        rows = np.flatnonzero(self.record.columns["node_param"] != 0).tolist()
        return {self.text("node_param", row): row for row in reversed(rows)}

    def node_of_param(self, name: str) -> int:
        """Return the node of a parameter, -1 if it is not in this graph."""
        return self._param_nodes.get(name, -1)


def _check(columns: Mapping[str, Any], count: int) -> None:
    for prefix in ("node_", "edge_", "saved_"):
        if len({len(values) for name, values in columns.items() if name.startswith(prefix)}) > 1:
            raise DataError(f"columns {prefix}* of the graph have different lengths")
    for name in ("edge_from", "edge_to", "saved_node"):
        if len(columns[name]) and not (columns[name].min() >= 0 and columns[name].max() < count):
            raise DataError(f"{name} of the graph points outside of it")
