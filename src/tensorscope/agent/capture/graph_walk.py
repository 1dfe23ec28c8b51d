"""Reads autograd graphs before backward frees them: nodes, edges and what each node has saved.

Only ``_raw_saved_*`` is read, and of it ``.data``: the other spelling runs checkpointed forwards
again, calls unpack hooks and raises on freed graphs.
"""

from __future__ import annotations

import gc
from typing import Any

import torch

from tensorscope.agent.capture.forward_trace import ForwardTrace
from tensorscope.agent.capture.tensor_facts import NO_NUMBER, PLAIN, FactFinder, Facts, short_name
from tensorscope.agent.context import Context, column
from tensorscope.core.wire import Column

MAX_NODES = 20_000
"""A node that Python has seen keeps its Python object, and such nodes are freed recursively, where torch
frees unseen ones in a loop: on a stack of 8 MiB a chain of 50,000 seen nodes crashes the program."""
_RAW = "_raw_saved_"


_NO_META = ((), None)
_Kind = tuple[tuple[tuple[str, int], ...], int]
"""What all nodes of one type have: (attribute, string id of its short name) of what they save; source."""


class GraphWalk:
    """All graphs of one step, one after the other, in one set of columns. Keeps no node and no tensor.

    A node that was met in an earlier backward of the step (a graph that is used twice) stays the one
    row it was.

    Attributes
    ----------
    saved
        One (row of the node, string id of its name in the node, facts) per saved tensor.
    rows_of_parameters
        Row of the AccumulateGrad node of each parameter's string id.
    truncated
        Whether nodes were left out because there were too many.
    """

    def __init__(self, context: Context, trace: ForwardTrace | None) -> None:
        self._context = context
        self._trace = trace
        self.saved: list[tuple[int, int, Facts]] = []
        self._first_saved: set[int] = set()
        """Where in `saved` the graph of each backward begins."""
        self.backward_ns: list[int] = []
        self.rows_of_parameters: dict[int, int] = {}
        self.numbers: list[int] = []
        self.names: list[int] = []
        self.truncated = False
        self.compiled = False
        self._parameters: list[int] = []
        self._metas: list[tuple[Any, Any]] = []
        self._sources: dict[int, int] = {}
        self._edge_from: list[int] = []
        self._edge_to: list[int] = []
        self._leaves: dict[int, int] = {}
        self._known: dict[tuple[int, int], int] = {}
        self._facts = FactFinder(context)
        self._name_ids: dict[str, int] = {}
        self._shape_ids: dict[tuple[Any, ...], int] = {}
        self._kinds: dict[type, _Kind] = {}

    def __len__(self) -> int:
        return len(self.names)

    def add(self, roots: Any) -> list[tuple[Any, int]]:
        """Read what hangs on the tensors `roots`; return each new node with its row.

        The caller must let go of the nodes before the program goes on.
        """
        self._first_saved.add(len(self.saved))
        collecting = gc.isenabled()
        gc.disable()  # thousands of young tuples would only be looked at in vain
        try:
            keys = zip(self.numbers, self.names, strict=True)
            self._known = {key: row for row, key in enumerate(keys) if key[0] >= 0}
            order = self._walk([root.grad_fn for root in roots if root.grad_fn is not None])
            self.backward_ns += [-1] * (len(self.names) - len(self.backward_ns))
            return order
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
        number = node._sequence_nr()
        variable = None
        if number >= NO_NUMBER:
            number, variable = -1, getattr(node, "variable", None)
        row = self._row_of_known(number, name, variable) if variable is not None or self._known else -1
        if row < 0:
            row = len(self.names)
            if row >= MAX_NODES:
                self.truncated = True
                index[node] = -1
                return -1
            self.names.append(name)
            self.numbers.append(number)
            if variable is None:
                self._parameters.append(0)
                self._describe(node, row)
            else:
                self._parameters.append(self._name_leaf(variable, row))
                self._metas.append((variable.shape, variable.dtype))
            order.append((node, row))
        index[node] = row
        return row

    def _row_of_known(self, number: int, name: int, variable: Any) -> int:
        if variable is not None:
            return self._leaves.get(id(variable), -1)
        return self._known.get((number, name), -1)

    def _name_leaf(self, variable: Any, row: int) -> int:
        parameter = self._context.string(self._context.program.parameter_name(variable))
        self._leaves[id(variable)] = row
        if parameter:
            self.rows_of_parameters.setdefault(parameter, row)
        return parameter

    def _describe(self, node: Any, row: int) -> None:
        metas = node._input_metadata
        if metas:
            meta = metas[0]
            self._metas.append((tuple(meta.shape), meta.dtype))
        else:
            self._metas.append(_NO_META)
        kind = self._kinds.get(type(node))
        if kind is None:
            kind = self._kinds[type(node)] = self._learn(node)
        for attribute, label in kind[0]:
            try:
                raw = getattr(node, attribute)
            except RuntimeError:
                continue  # a custom Function whose tensors have been freed
            if type(raw) is tuple:
                for one in raw:
                    self._read_saved(row, label, one.data)
            else:
                self._read_saved(row, label, raw.data)
        if kind[1]:
            self._sources[row] = kind[1]

    def _learn(self, node: Any) -> _Kind:
        """Look at the first node of a type closely; the others have the same attributes; `dir` is slow."""
        names = [name for name in dir(node) if name.startswith(_RAW)]
        saved = tuple((name, self._context.string(name.removeprefix(_RAW))) for name in names)
        self.compiled = self.compiled or "CompiledFunction" in type(node).__name__
        custom = getattr(type(node), "_forward_cls", None)
        source = self._trace.lines.of_class(custom) if custom is not None and self._trace else 0
        return saved, source

    def _read_saved(self, row: int, label: int, data: Any) -> None:
        if type(data) in PLAIN:
            self.saved.append((row, label, self._facts.of_saved(data)))
            return
        if data is None:
            return  # nothing was saved, or it has been freed
        if isinstance(data, tuple):  # what save_on_cpu packs: (device, tensor)
            data = next((part for part in data if isinstance(part, torch.Tensor)), data)
        if isinstance(data, torch.Tensor):
            facts = self._facts.of(data)
        else:  # a hook has packed it into something of its own; a checkpoint will make it again
            checkpoint = type(data).__module__ == "torch.utils.checkpoint"
            facts = self._facts.absent("recomputed" if checkpoint else "packed")
        self.saved.append((row, label, facts))

    def _shape(self, sizes: Any) -> int:
        found = self._shape_ids.get(sizes)
        if found is None:
            found = self._shape_ids[sizes] = self._context.string(str(list(sizes)))
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
        for index, (row, _, facts) in enumerate(self.saved):
            if index in self._first_saved:
                seen = set(kept)  # what the backward before had freed may lie at the same address
            if facts.storage not in seen:
                seen.add(facts.storage)
                saved_bytes[row] += facts.storage_bytes
        saved = [facts for _, _, facts in self.saved]
        shapes = [0 if meta is _NO_META else self._shape(meta[0]) for meta in self._metas]
        dtypes = [0 if meta is _NO_META else self._facts.dtype(meta[1]) for meta in self._metas]
        trace = self._trace
        made = [trace.module_of(number) if trace is not None else (0, 0) for number in self.numbers]
        return {
            "node_name": column("u4", self.names), "node_seq": column("i8", self.numbers),
            "node_module": column("u4", [module for module, _ in made]),
            "node_call": column("i4", [call for _, call in made]),
            "node_param": column("u4", self._parameters), "node_shape": column("u4", shapes),
            "node_dtype": column("u4", dtypes), "node_saved_bytes": column("i8", saved_bytes),
            "node_source": column("u4", self._node_sources()),
            "node_backward_ns": column("i8", self.backward_ns),
            "edge_from": column("i4", self._edge_from), "edge_to": column("i4", self._edge_to),
            "saved_node": column("i4", [row for row, _, _ in self.saved]),
            "saved_name": column("u4", [name for _, name, _ in self.saved]),
            "saved_shape": column("u4", [self._shape(facts.sizes) for facts in saved]),
            "saved_dtype": column("u4", [facts.dtype for facts in saved]),
            "saved_bytes": column("i8", [facts.storage_bytes for facts in saved]),
            "saved_storage": column("u8", [facts.storage for facts in saved]),
        }  # fmt: skip

    def _node_sources(self) -> list[int]:
        if self._trace is None:
            return [0] * len(self.names)
        of, own = self._trace.source_of, self._sources
        return [own.get(row) or of(number) for row, number in enumerate(self.numbers)]
