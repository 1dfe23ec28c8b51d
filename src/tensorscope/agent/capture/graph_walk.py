"""Reads autograd graphs before backward frees them: nodes, edges and what each node has saved.

Only ``_raw_saved_*`` is read, and of it ``.data``: the other spelling runs checkpointed forwards
again, calls unpack hooks and raises on freed graphs.
"""

from __future__ import annotations

import gc
from typing import Any

import torch

from tensorscope.agent.capture.forward_trace import ForwardTrace
from tensorscope.agent.capture.tensor_facts import FactFinder, Facts, short_name, signed
from tensorscope.agent.context import Context, column
from tensorscope.core.wire import Column

MAX_NODES = 400_000
_RAW = "_raw_saved_"


class GraphWalk:
    """All graphs of one step, one after the other, in one set of columns. Keeps no node and no tensor.

    A node that was met in an earlier backward of the step (a graph that is used twice) stays the one
    row it was.

    Attributes
    ----------
    saved
        One (row of the node, string id of its name in the node, shape's string id, facts) per saved tensor.
    rows_of_parameters
        Row of the AccumulateGrad node of each parameter's string id.
    truncated
        Whether nodes were left out because there were too many.
    """

    def __init__(self, context: Context, trace: ForwardTrace | None) -> None:
        self._context = context
        self._trace = trace
        self.saved: list[tuple[int, int, int, Facts]] = []
        self.backward_ns: list[int] = []
        self.rows_of_parameters: dict[int, int] = {}
        self.numbers: list[int] = []
        self.names: list[int] = []
        self.truncated = False
        self.compiled = False
        self._parameters: list[int] = []
        self._shapes: list[int] = []
        self._dtypes: list[int] = []
        self._sources: dict[int, int] = {}
        self._edge_from: list[int] = []
        self._edge_to: list[int] = []
        self._leaves: dict[int, int] = {}
        self._known: dict[tuple[int, int], int] | None = None
        self._facts = FactFinder(context)
        self._name_ids: dict[str, int] = {}
        self._shape_ids: dict[tuple[Any, ...], int] = {}
        self._saved_of: dict[type, tuple[tuple[str, int], ...]] = {}

    def __len__(self) -> int:
        return len(self.names)

    def add(self, roots: Any) -> list[tuple[Any, int]]:
        """Read what hangs on the tensors `roots`; return each new node with its row.

        The caller must let go of the nodes before the program goes on.
        """
        collecting = gc.isenabled()
        gc.disable()  # thousands of young tuples would only be looked at in vain
        try:
            if self.names and self._known is None:
                self._known = {}
            if self._known is not None:
                keys = zip(self.numbers, self.names, strict=True)
                self._known = {key: row for row, key in enumerate(keys) if key[0] >= 0}
            return self._walk([root.grad_fn for root in roots if root.grad_fn is not None])
        finally:
            if collecting:
                gc.enable()

    def rows_of(self, numbers: list[int]) -> list[int]:
        """Return the row of the node with each sequence number, -1 where there is none."""
        rows = {number: row for row, number in enumerate(self.numbers) if number >= 0}
        return [rows.get(number, -1) for number in numbers]

    def module_of(self, row: int) -> int:
        """Return the string id of the module that made a node."""
        return self._trace.module_of(self.numbers[row])[0] if self._trace is not None else 0

    def _walk(self, starts: list[Any]) -> list[tuple[Any, int]]:
        index: dict[Any, int] = {}
        order: list[tuple[Any, int]] = []
        edge_from, edge_to = self._edge_from, self._edge_to
        for node in starts:
            if node not in index:
                self._add_node(node, index, order)
        for node, row in order:  # grows while it is walked
            for child, _ in node.next_functions:
                if child is None:
                    continue
                child_row = index.get(child)
                if child_row is None:
                    child_row = self._add_node(child, index, order)
                if child_row >= 0:
                    edge_from.append(row)
                    edge_to.append(child_row)
        return order

    def _add_node(self, node: Any, index: dict[Any, int], order: list[tuple[Any, int]]) -> int:
        """Give `node` a row, and a place in `order` unless an earlier backward has walked it; -1 if full."""
        raw = node.name()
        name = self._name_ids.get(raw)
        if name is None:
            name = self._name_ids[raw] = self._context.string(short_name(raw))
            self.compiled = self.compiled or "CompiledFunction" in raw
        number = signed(node._sequence_nr())
        variable = getattr(node, "variable", None) if number < 0 else None
        row = self._row_of_known(number, name, variable)
        if row < 0:
            row = len(self.names)
            if row >= MAX_NODES:
                self.truncated = True
                index[node] = -1
                return -1
            self._describe(node, row, name, number, variable)
            order.append((node, row))
        index[node] = row
        return row

    def _row_of_known(self, number: int, name: int, variable: Any) -> int:
        if variable is not None:
            return self._leaves.get(id(variable), -1)
        return self._known.get((number, name), -1) if self._known is not None else -1

    def _describe(self, node: Any, row: int, name: int, number: int, variable: Any) -> None:
        parameter = 0
        if variable is not None:
            parameter = self._context.string(self._context.program.parameter_name(variable))
            self._leaves[id(variable)] = row
            if parameter:
                self.rows_of_parameters.setdefault(parameter, row)
        self.names.append(name)
        self.numbers.append(number)
        self._parameters.append(parameter)
        self.backward_ns.append(-1)
        shape = dtype = 0
        for meta in node._input_metadata:
            shape, dtype = self._shape(meta.shape), self._facts.dtype(meta.dtype)
            break
        self._shapes.append(shape)
        self._dtypes.append(dtype)
        kind = type(node)
        saved = self._saved_of.get(kind)
        if saved is None:
            saved = self._saved_of[kind] = self._saved_attributes(node)
        for attribute, label in saved:
            self._read_saved(row, label, getattr(node, attribute))
        if self._trace is not None and hasattr(kind, "_forward_cls"):
            self._sources[row] = self._trace.lines.of_class(kind._forward_cls)

    def _saved_attributes(self, node: Any) -> tuple[tuple[str, int], ...]:
        """Return (attribute, string id of its short name) of what nodes of this type save. `dir` is slow."""
        names = [name for name in dir(node) if name.startswith(_RAW)]
        return tuple((name, self._context.string(name.removeprefix(_RAW))) for name in names)

    def _read_saved(self, row: int, label: int, raw: Any) -> None:
        if type(raw) is tuple:
            for one in raw:
                self._read_saved(row, label, one)
            return
        data = getattr(raw, "data", None)
        if data is None:
            return  # nothing was saved, or it has been freed
        if isinstance(data, tuple):  # what save_on_cpu packs: (device, tensor)
            data = next((part for part in data if isinstance(part, torch.Tensor)), data)
        if isinstance(data, torch.Tensor):
            self.saved.append((row, label, self._shape(data.shape), self._facts.of(data)))
        else:  # a hook has packed it into something of its own; a checkpoint will make it again
            checkpoint = type(data).__module__ == "torch.utils.checkpoint"
            kind = "recomputed" if checkpoint else "packed"
            self.saved.append((row, label, 0, self._facts.absent(kind)))

    def _shape(self, shape: Any) -> int:
        key = tuple(shape)
        found = self._shape_ids.get(key)
        if found is None:
            found = self._shape_ids[key] = self._context.string(str(list(shape)))
        return found

    def columns(self, kept: set[int]) -> dict[str, Column]:
        """Return the columns of the ``graph`` record.

        Parameters
        ----------
        kept
            Addresses of storages that live with or without the graph (parameters, buffers): they are
            listed as saved, but are none of the bytes that the graph holds.
        """
        saved_bytes = [0] * len(self.names)
        seen = set(kept)
        for row, _, _, facts in self.saved:
            if facts.storage not in seen:
                seen.add(facts.storage)
                saved_bytes[row] += facts.storage_bytes
        trace = self._trace
        made = [trace.module_of(number) if trace is not None else (0, 0) for number in self.numbers]
        return {
            "node_name": column("u4", self.names), "node_seq": column("i8", self.numbers),
            "node_module": column("u4", [module for module, _ in made]),
            "node_call": column("i4", [call for _, call in made]),
            "node_param": column("u4", self._parameters), "node_shape": column("u4", self._shapes),
            "node_dtype": column("u4", self._dtypes), "node_saved_bytes": column("i8", saved_bytes),
            "node_source": column("u4", self._node_sources()),
            "node_backward_ns": column("i8", self.backward_ns),
            "edge_from": column("i4", self._edge_from), "edge_to": column("i4", self._edge_to),
            "saved_node": column("i4", [row for row, _, _, _ in self.saved]),
            "saved_name": column("u4", [name for _, name, _, _ in self.saved]),
            "saved_shape": column("u4", [shape for _, _, shape, _ in self.saved]),
            "saved_dtype": column("u4", [facts.dtype for _, _, _, facts in self.saved]),
            "saved_bytes": column("i8", [facts.storage_bytes for _, _, _, facts in self.saved]),
            "saved_storage": column("u8", [facts.storage for _, _, _, facts in self.saved]),
        }  # fmt: skip

    def _node_sources(self) -> list[int]:
        if self._trace is None:
            return [0] * len(self.names)
        of, own = self._trace.source_of, self._sources
        return [own.get(row) or of(number) for row, number in enumerate(self.numbers)]
