"""Reads autograd graphs before backward frees them: nodes, edges and what each node has saved.

Only ``_raw_saved_*`` is read, and of it ``.data``: the other spelling runs checkpointed forwards
again, calls unpack hooks and raises on freed graphs.
"""

from __future__ import annotations

import gc
from typing import Any, NamedTuple

import torch

from tensorscope.agent.capture.forward_trace import ForwardTrace
from tensorscope.agent.capture.gradient_norms import GradientNorms
from tensorscope.agent.capture.node_probe import NodeRuns
from tensorscope.agent.capture.stack_room import FREED_SAFELY, make_room
from tensorscope.agent.capture.tensor_facts import NO_NUMBER, PLAIN, FactFinder, Facts, short_name
from tensorscope.agent.context import Context
from tensorscope.core.schema import NODE_KINDS

_RAW = "_raw_saved_"

NO_META = ((), None)
PLAIN_NODE, CUSTOM, CHECKPOINT, COMPILED, DISTRIBUTED, ACCUMULATE = range(len(NODE_KINDS))


class _Type(NamedTuple):
    """What all nodes of one type have."""

    saved: tuple[tuple[str, int], ...]
    """(attribute, string id of its short name) of what they save."""
    source: int
    kind: int


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
    runs
        When and how long each node ran.
    norms
        Set where gradients are to be measured.
    shared_nodes
        How many nodes of earlier backwards of the step the last one has met again.
    truncated
        Whether nodes were left out because there were too many.
    """

    def __init__(self, context: Context, trace: ForwardTrace | None) -> None:
        self._context = context
        self.trace = trace
        self.saved: list[tuple[int, int, Facts]] = []
        self.first_saved: set[int] = set()
        """Where in `saved` the graph of each backward begins."""
        self._walks = 0
        self.shared_nodes = 0
        self.runs = NodeRuns()
        self.norms: GradientNorms | None = None
        self.rows_of_parameters: dict[int, int] = {}
        self.numbers: list[int] = []
        self.names: list[int] = []
        self.truncated = False
        self.compiled = False
        self.parameters: list[int] = []
        self.metas: list[tuple[Any, Any]] = []
        self.kinds: list[int] = []
        self.backwards: list[int] = []
        self.hooks: dict[int, int] = {}
        self.sources: dict[int, int] = {}
        self.edge_from: list[int] = []
        self.edge_to: list[int] = []
        self.edge_input: list[int] = []
        self.edge_output: list[int] = []
        self._leaves: dict[int, int] = {}
        self._known: dict[tuple[int, int], int] = {}
        self.facts = FactFinder(context)
        self._name_ids: dict[str, int] = {}
        self._types: dict[type, _Type] = {}
        self._most = FREED_SAFELY

    def __len__(self) -> int:
        return len(self.names)

    def add(self, roots: Any) -> list[tuple[Any, int]]:
        """Read what hangs on the tensors `roots`; return each new node with its row.

        The caller must let go of the nodes before the program goes on.
        """
        self.first_saved.add(len(self.saved))
        self.shared_nodes = 0
        collecting = gc.isenabled()
        gc.disable()  # thousands of young tuples would only be looked at in vain
        try:
            keys = zip(self.numbers, self.names, strict=True)
            self._known = {key: row for row, key in enumerate(keys) if key[0] >= 0}
            order = self._walk([root.grad_fn for root in roots if root.grad_fn is not None])
            self.runs.grow(len(self.names))
            self.backwards += [self._walks] * (len(self.names) - len(self.backwards))
            self._walks += 1
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
        return self.trace.module_of(self.numbers[row])[0] if self.trace is not None else 0

    def _walk(self, starts: list[Any]) -> list[tuple[Any, int]]:
        index: dict[Any, int] = {}
        order: list[tuple[Any, int]] = []
        for node in starts:
            if node not in index:
                self._add_node(node, index, order)
        for node, row in order:  # grows while it is walked
            for place, (child, output) in enumerate(node.next_functions):
                if child is None:
                    continue
                child_row = index.get(child)
                if child_row is None:
                    child_row = self._add_node(child, index, order)
                if child_row >= 0:
                    self.edge_from.append(row)
                    self.edge_to.append(child_row)
                    self.edge_input.append(place)
                    self.edge_output.append(output)
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
            if row >= self._most and not self._make_room():
                index[node] = -1
                return -1
            self.names.append(name)
            self.numbers.append(number)
            if variable is None:
                self.parameters.append(0)
                self._describe(node, row)
            else:
                self.parameters.append(self._name_leaf(variable, row))
                self.metas.append((variable.shape, variable.dtype))
                self.kinds.append(ACCUMULATE)
            order.append((node, row))
        index[node] = row
        return row

    def _make_room(self) -> bool:
        """Return whether more nodes may be read, after making room for them."""
        most = make_room()
        self.truncated = len(self.names) >= most
        self._most = most if not self.truncated else self._most
        return not self.truncated

    def _row_of_known(self, number: int, name: int, variable: Any) -> int:
        if variable is not None:
            return self._leaves.get(id(variable), -1)
        row = self._known.get((number, name), -1)
        self.shared_nodes += row >= 0
        return row

    def _name_leaf(self, variable: Any, row: int) -> int:
        parameter = self._context.string(self._context.program.parameter_name(variable))
        self._leaves[id(variable)] = row
        hooks = hooks_of(variable)
        if hooks:
            self.hooks[row] = hooks
        if parameter:
            self.rows_of_parameters.setdefault(parameter, row)
        return parameter

    def _describe(self, node: Any, row: int) -> None:
        metas = node._input_metadata
        if metas:
            meta = metas[0]
            self.metas.append((tuple(meta.shape), meta.dtype))
        else:
            self.metas.append(NO_META)
        kind = self._types.get(type(node))
        if kind is None:
            kind = self._types[type(node)] = self._learn(node)
        self.kinds.append(kind.kind)
        for attribute, label in kind.saved:
            try:
                raw = getattr(node, attribute)
            except RuntimeError:
                continue  # a custom Function whose tensors have been freed
            if type(raw) is tuple:
                for one in raw:
                    self._read_saved(row, label, one.data)
            else:
                self._read_saved(row, label, raw.data)
        if kind.source:
            self.sources[row] = kind.source

    def _learn(self, node: Any) -> _Type:
        """Look at the first node of a type closely; the others have the same attributes; `dir` is slow."""
        names = [name for name in dir(node) if name.startswith(_RAW)]
        saved = tuple((name, self._context.string(name.removeprefix(_RAW))) for name in names)
        kind = kind_of(type(node))
        self.compiled = self.compiled or kind == COMPILED
        custom = getattr(type(node), "_forward_cls", None)
        source = self.trace.lines.of_class(custom) if custom is not None and self.trace else 0
        return _Type(saved, source, kind)

    def _read_saved(self, row: int, label: int, data: Any) -> None:
        if type(data) in PLAIN:
            self.saved.append((row, label, self.facts.of_saved(data)))
            return
        if data is None:
            return  # nothing was saved, or it has been freed
        if isinstance(data, tuple):  # what save_on_cpu packs: (device, tensor)
            data = next((part for part in data if isinstance(part, torch.Tensor)), data)
        if isinstance(data, torch.Tensor):
            facts = self.facts.of(data)
        else:  # a hook has packed it into something of its own; a checkpoint will make it again
            checkpoint = type(data).__module__ == "torch.utils.checkpoint"
            facts = self.facts.absent("recomputed" if checkpoint else "packed")
            if checkpoint:
                self.kinds[row] = CHECKPOINT
        self.saved.append((row, label, facts))


def hooks_of(tensor: Any) -> int:
    """Return how many hooks a tensor has, on its gradient and after it was accumulated."""
    return sum(len(hooks or ()) for hooks in (tensor._backward_hooks, tensor._post_accumulate_grad_hooks))


def kind_of(node_type: type) -> int:
    """Return the index in `NODE_KINDS` of all nodes of one type."""
    name, custom = node_type.__name__, getattr(node_type, "_forward_cls", None)
    module = getattr(custom, "__module__", None) or ""
    if "CompiledFunction" in name:
        return COMPILED
    if module == "torch.utils.checkpoint":
        return CHECKPOINT
    if module.startswith("torch.distributed") or name.startswith(("_DDPSink", "_AllReduce", "_Broadcast")):
        return DISTRIBUTED
    if module.startswith("torch.nn.parallel"):
        return DISTRIBUTED
    return CUSTOM if custom is not None else PLAIN_NODE
