"""Every tensor that the program holds or used in one step: what it is and where it lies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch

from tensorscope.agent.capture.backward_call import BackwardCall
from tensorscope.agent.capture.capture import Capture
from tensorscope.agent.capture.deep_step import DeepStep
from tensorscope.agent.capture.tensor_facts import FactFinder, Facts, TensorRows
from tensorscope.agent.context import Context
from tensorscope.core.schema import ROLES
from tensorscope.core.wire import Frame

MAX_PASSING = 50_000
"""Most inputs and activations, and most saved tensors, in one record."""
_ACTIVATION, _INPUT, _SAVED = (ROLES.index(role) for role in ("activation", "input", "saved"))
_MAX_DEPTH = 4


class TensorsCapture(Capture):
    """Emits one ``tensors`` record at the end of the step, where gradients still exist.

    Inputs and outputs of modules are looked at when they pass, and only what they were is kept: most
    of them are gone at the end of the step, and another tensor may then lie at the same address.
    Outputs and saved tensors need the graph capture beside this one.
    """

    name = "tensors"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._facts = FactFinder(context)
        self._passing: list[tuple[str, int, int, Facts]] = []
        self._names: Counter[str] = Counter()
        self._truncated = False

    def begin_step(self, step: int) -> None:
        """Begin to note what passes."""
        self.stop()
        deep = self.context.deep
        if deep is not None and deep.trace is not None:
            deep.trace.on_output.append(self._note_output)

    def stop(self) -> None:
        """Forget what has passed."""
        self._passing.clear()
        self._names.clear()
        self._truncated = False

    def before_forward(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Note the inputs of a root."""
        path = self.context.program.module_path(module)
        base = f"{path}.input" if path else "input"
        self._note(base, _INPUT, self.context.string(path), [*args, *kwargs.values()])

    def before_backward(self, call: BackwardCall) -> None:
        """Note what backward starts from."""
        for root in call.roots:
            self._note("loss", _ACTIVATION, 0, root)

    def end_step(self, step: int) -> None:
        """Emit all of it."""
        rows = TensorRows()
        deep = self.context.deep
        with torch._C.DisableTorchFunction():
            self._add_named(rows, deep.walk.rows_of_parameters if deep else {})
        self._add_passing(rows, deep)
        if deep is not None:
            self._add_saved(rows, deep)
        truncated = self._truncated or (deep is not None and len(deep.walk.saved) > MAX_PASSING)
        self.context.emit(Frame("tensors", step, meta={"truncated": truncated}, columns=rows.columns()))
        self.stop()

    def _note_output(self, path: int, call: int, output: Any) -> None:
        name = self.context.interner.text(path) or "output"
        self._note(name, _ACTIVATION, path, output)

    def _note(self, name: str, role: int, module: int, value: Any) -> None:
        """Keep the facts of the tensors in `value`; the second with a name is called ``name#1``."""
        with torch._C.DisableTorchFunction():
            for label, tensor in _tensors_in(value, name, 0):
                if len(self._passing) >= MAX_PASSING:
                    self._truncated = True
                    return
                again = self._names[label]
                self._names[label] += 1
                unique = f"{label}#{again}" if again else label
                self._passing.append((unique, role, module, self._facts.of(tensor)))

    def _add_named(self, rows: TensorRows, nodes: dict[int, int]) -> None:
        string = self.context.string
        groups = [group for one in self.context.program.all_optimizers() for group in one.param_groups]
        trained = {id(tensor) for group in groups for tensor in group["params"]}
        owners: dict[str, int] = {}
        for name, role, tensor in self.context.program.named_tensors():
            if role == "parameter":
                owners[name] = nodes.get(string(name), -1)
            owner = name if role in ("parameter", "buffer") else name.rpartition(".")[0]
            module = string(owner.rpartition(".")[0])
            node = owners.get(owner, -1)
            facts, is_trained = self._facts.of(tensor), id(tensor) in trained
            rows.add(string(name), ROLES.index(role), facts, module, node, is_trained)

    def _add_passing(self, rows: TensorRows, deep: DeepStep | None) -> None:
        numbers = [facts.made_by for _, _, _, facts in self._passing]
        nodes = deep.walk.rows_of(numbers) if deep is not None else [-1] * len(numbers)
        for (name, role, module, facts), node in zip(self._passing, nodes, strict=True):
            rows.add(self.context.string(name), role, facts, module, node)

    def _add_saved(self, rows: TensorRows, deep: DeepStep) -> None:
        text, string = self.context.interner.text, self.context.string
        counts: Counter[str] = Counter()
        for node, label, facts in deep.walk.saved[:MAX_PASSING]:
            module = deep.walk.module_of(node)
            path = text(module)
            name = f"{text(deep.walk.names[node])}.{text(label)}"
            name = f"{path}.{name}" if path else name
            again = counts[name]
            counts[name] += 1
            unique = f"{name}#{again}" if again else name
            rows.add(string(unique), _SAVED, facts, module, node)


def _tensors_in(value: Any, name: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield (name, tensor) of the tensors in nested tuples, lists and dicts; single ones keep the name."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif depth < _MAX_DEPTH and isinstance(value, dict):
        for key, item in value.items():
            yield from _tensors_in(item, f"{name}.{key}", depth + 1)
    elif depth < _MAX_DEPTH and isinstance(value, (tuple, list)):
        for number, item in enumerate(value):
            label = name if len(value) == 1 else f"{name}.{number}"
            yield from _tensors_in(item, label, depth + 1)
