"""What a deep step proves of gradients: who gets none and why, and where they stop being numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.core.finding import Finding
from tensorscope.core.schema import NONFINITE, ROLES
from tensorscope.models.frozen_store import StoreLike
from tensorscope.models.graph_findings import SHOWN, place, where
from tensorscope.models.session_store import Record

_Rule = Callable[[StoreLike, Record], Iterator[Finding]]
_PARAMETER, _ACTIVATION = ROLES.index("parameter"), ROLES.index("activation")
VANISHED, EXPLODED = 1e-6, 1e6
"""Root mean square of a module's gradients beside the median of all modules."""


def gradient_findings(store: StoreLike) -> list[Finding]:
    """Return what the newest deep step proves; of numbers that are not finite, the first that has any."""
    newest: tuple[_Rule, ...] = (_no_gradient, _stale_optimizer, _out_of_scale)
    oldest: tuple[_Rule, ...] = (_not_finite_forward, _not_finite_backward)
    records = store.records("graph")
    found = [finding for rule in newest for record in records[-1:] for finding in rule(store, record)]
    for rule in oldest:
        found += next(filter(None, (list(rule(store, record)) for record in records)), [])
    return found


def _not_finite_forward(store: StoreLike, record: Record) -> Iterator[Finding]:
    """The first module whose output is not finite: modules return before those that hold them."""
    kinds = record.columns.get("output_nonfinite", np.empty(0, np.uint8))
    rows = np.flatnonzero(kinds)
    if not len(rows):
        return
    row = int(rows[0])
    module = store.string(int(record.columns["output_module"][row])) or "(root)"
    kind = NONFINITE[int(kinds[row])]
    yield Finding(
        "output-not-finite", "error",
        f"{module} is the first module of step {record.step} whose output is not finite ({kind}).",
        {"module": module, "kind": kind, "finite_before": row, "outputs": len(kinds)},
        where(record, module=module if module != "(root)" else ""),
        "Look at its input and parameters: a division by zero, a logarithm of zero, or an overflow in half "
        "precision.",
    )  # fmt: skip


def _not_finite_backward(store: StoreLike, record: Record) -> Iterator[Finding]:
    """The first node that received a finite gradient and sent one that is not."""
    columns = record.columns
    if not record.meta.get("gradients") or "edge_nonfinite" not in columns:
        return
    spoilt = np.zeros(len(columns["node_name"]), np.uint8)
    np.maximum.at(spoilt, columns["edge_from"], columns["edge_nonfinite"])
    rows = np.flatnonzero((spoilt > 0) & (columns["node_nonfinite"] == 0))
    rows = rows[columns["node_begin_ns"][rows] > 0]
    if not len(rows):
        return
    node = int(rows[np.argmin(columns["node_begin_ns"][rows])])
    at, kind = place(store, record, node), NONFINITE[int(spoilt[node])]
    after = int((columns["node_nonfinite"] > 0).sum())
    yield Finding(
        "gradient-not-finite", "error",
        f"{at['op']} at {at['source'] or 'an unknown line'} is the first node of step {record.step} that "
        f"turns a "
        f"finite gradient into {kind}; {after:,} nodes after it receive one that is not finite.",
        {**at, "kind": kind, "received_norm": float(columns["node_grad_norm"][node]), "nodes_after": after},
        where(record, node, at["module"]),
        "Its slope is not finite where it was evaluated (a square root or norm at zero, a logarithm, a "
        "division); torch.where does not help, its unused branch is differentiated, too. Move the bad values "
        "away before the operation.",
    )  # fmt: skip


class _Parameters:
    """The parameters of the deep step that `record` is of; none where its tensors are not known."""

    def __init__(self, store: StoreLike, record: Record) -> None:
        tensors = [one for one in store.records("tensors") if one.step == record.step]
        self.known = bool(tensors) and "trained" in tensors[-1].columns
        if not self.known:
            return
        columns = tensors[-1].columns
        rows = np.flatnonzero(columns["role"] == _PARAMETER)
        self.names = [store.string(int(i)) for i in columns["name"][rows]]
        self.modules = [store.string(int(i)) for i in columns["module"][rows]]
        self.storage_bytes = columns["storage_bytes"][rows]
        self.requires_grad = columns["requires_grad"][rows] > 0
        self.trained = columns["trained"][rows] > 0
        self.reached: NDArray[np.bool_] = columns["node"][rows] >= 0
        outputs = np.flatnonzero(columns["role"] == _ACTIVATION)
        self.graphless = {
            store.string(int(columns["module"][row])) for row in outputs if not columns["requires_grad"][row]
        }


def _is_whole(record: Record) -> bool:
    """Whether every gradient of the step would be in the record."""
    meta = record.meta
    calls = meta.get("calls")
    accumulated = isinstance(calls, list) and any(call.get("accumulates") for call in calls)
    return accumulated and not (meta.get("compiled") or meta.get("truncated") or meta.get("failed"))


def _no_gradient(store: StoreLike, record: Record) -> Iterator[Finding]:
    parameters = _Parameters(store, record)
    if not parameters.known or not _is_whole(record):
        return
    without = np.flatnonzero(parameters.requires_grad & parameters.trained & ~parameters.reached)
    owned = [int(row) for row in without if not _is_loose(parameters.names[row])]
    if not owned or not parameters.reached.any():
        return
    table = store.tables["module"]
    ran = {store.string(int(i)) for i in np.unique(table["module"][table["step"] == record.step])}
    reasons = {"unused": 0, "detached": 0, "not_used_by_loss": 0}
    named: list[str] = []
    for row in owned:
        reason = _reason(parameters, row, ran)
        reasons[reason] += 1
        if len(named) < SHOWN:
            named.append(f"{parameters.names[row]}: {reason.replace('_', ' ')}")
    size = int(parameters.storage_bytes[owned].sum())
    yield Finding(
        "no-gradient", "warning",
        f"{len(owned):,} of {int(parameters.trained.sum()):,} trained parameters get no gradient in step "
        f"{record.step}: {named[0]}" + (f" and {len(owned) - 1:,} more." if len(owned) > 1 else "."),
        {"parameters": len(owned), "size_bytes": size, **reasons, "names": named, "first_name": named[0]},
        where(record, module=parameters.modules[owned[0]]),
        "Unused: the module did not run, or its result is thrown away. Detached: its result left the graph "
        "(detach(), no_grad(), a conversion to numpy or a Python number). Freeze or remove what is not meant "
        "to be trained.",
    )  # fmt: skip


def _reason(parameters: _Parameters, row: int, ran: set[str]) -> str:
    module = parameters.modules[row]
    if module in parameters.graphless:
        return "detached"
    return "not_used_by_loss" if module in ran else "unused"


def _is_loose(name: str) -> bool:
    """Whether an optimizer alone knows a parameter."""
    return ".params." in name


def _stale_optimizer(store: StoreLike, record: Record) -> Iterator[Finding]:
    """An optimizer steps tensors that are no parameters of the model, and the model's own are left out."""
    parameters = _Parameters(store, record)
    if not parameters.known or not _is_whole(record) or not parameters.trained.any():
        return
    loose = np.array([_is_loose(name) for name in parameters.names], bool)
    orphans = np.flatnonzero(loose & ~parameters.reached)
    left_out = np.flatnonzero(~loose & parameters.reached & parameters.requires_grad & ~parameters.trained)
    if not len(left_out):
        return
    names = [parameters.names[row] for row in left_out[:SHOWN].tolist()]
    title = (
        f"{len(left_out):,} parameters get a gradient and are in no optimizer that stepped: {names[0]}"
        + (f" and {len(left_out) - 1:,} more" if len(left_out) > 1 else "")
        + (
            f"; the optimizer holds {len(orphans):,} tensors that the model does not."
            if len(orphans)
            else "."
        )
    )
    evidence: dict[str, Any] = {
        "untrained": len(left_out), "orphans": len(orphans), "names": names, "first_name": names[0],
        "untrained_bytes": int(parameters.storage_bytes[left_out].sum()),
    }  # fmt: skip
    yield Finding(
        "stale-optimizer", "warning" if len(orphans) else "info", title, evidence,
        where(record, module=parameters.modules[int(left_out[0])]),
        "Make the optimizer after the model has its final parameters (after replacing layers, loading, "
        "adding heads), or add them with add_param_group.",
    )  # fmt: skip


def _out_of_scale(store: StoreLike, record: Record) -> Iterator[Finding]:
    """Modules whose gradients are millions of times smaller or larger than the median module's."""
    columns = record.columns
    if not record.meta.get("gradients") or "node_grad_norm" not in columns:
        return
    found: dict[str, list[float]] = {}
    shapes = {int(i): store.string(int(i)) for i in np.unique(columns["node_shape"])}
    for node in np.flatnonzero(columns["node_param"]).tolist():
        norm = float(columns["node_grad_norm"][node])
        if np.isfinite(norm):
            module = store.string(int(columns["node_param"][node])).rpartition(".")[0]
            count = max(1, _elements(shapes[int(columns["node_shape"][node])]))
            found.setdefault(module, []).append(norm / count**0.5)
    scale = {module: max(values) for module, values in found.items()}
    positive = [value for value in scale.values() if value > 0]
    if len(positive) < 4:
        return
    median = float(np.median(positive))
    small = [module for module, value in scale.items() if value < VANISHED * median]
    large = [module for module, value in scale.items() if value > EXPLODED * median]
    kinds = (("gradients-vanish", small, "smaller"), ("gradients-explode", large, "larger"))
    for code, modules, word in kinds:
        if modules:
            named = [f"{module or '(root)'}: {scale[module]:.3g}" for module in modules[:SHOWN]]
            yield Finding(
                code, "warning",
                f"Gradients of {len(modules):,} modules are over a million times {word} than the median "
                f"module's "
                f"in step {record.step}: {named[0]} beside {median:.3g}.",
                {"modules": len(modules), "median_rms": median, "rms": named},
                where(record, module=modules[0]),
                "Look at the activations and initialisation on the way to them; normalisation, residual "
                "connections or another activation keep gradients in scale.",
            )  # fmt: skip


def _elements(shape: str) -> int:
    sizes = [int(part) for part in shape.strip("[]").split(",") if part.strip().isdigit()]
    return int(np.prod(sizes, dtype=np.float64)) if sizes else 1
