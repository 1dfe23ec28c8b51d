"""What deep steps prove of the autograd graph: how far it reaches, what keeps it, what spoils it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from tensorscope.core.finding import Finding
from tensorscope.core.schema import NODE_KINDS
from tensorscope.core.units import format_bytes
from tensorscope.models.frozen_store import StoreLike
from tensorscope.models.graph_data import short_name
from tensorscope.models.session_store import Record

SHOWN = 8
_ACCUMULATE = NODE_KINDS.index("accumulate")
_CHEAP = frozenset(
    ("Gelu", "Relu", "Silu", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "Mish", "Hardtanh", "Softplus", "Dropout",
     "NativeDropout", "Mul", "Pow", "Exp", "Sqrt", "Rsqrt", "Div", "Cos", "Sin", "Softmax", "LogSoftmax",
     "NativeLayerNorm", "FusedRmsNorm", "Where", "Clamp", "Abs", "To")
)  # fmt: skip
"""Elementwise operations and normalisations: computing them again costs less than what they save."""
_CHEAP_SHARE, _CHEAP_BYTES = 0.25, 16 << 20
_HOOK_RECORDS = 3


def graph_findings(store: StoreLike) -> list[Finding]:
    """Return what the deep steps of a session prove; the newest of each kind."""
    rules: tuple[Callable[[StoreLike], Iterator[Finding]], ...] = (
        _spoilt, _freed, _reaches_back, _outlives, _retained, _evaluation, _hooks, _cheap,
    )  # fmt: skip
    return [finding for rule in rules for finding in rule(store)]


def place(store: StoreLike, record: Record, node: int) -> dict[str, str]:
    """Return op, module and source line of a node, for titles and evidence."""
    columns = record.columns
    return {
        "op": short_name(store.string(int(columns["node_name"][node]))),
        "module": store.string(int(columns["node_module"][node])),
        "source": store.string(int(columns["node_source"][node])),
    }


def where(record: Record, node: int = -1, module: str = "") -> dict[str, Any]:
    """Return where the graph view shows it."""
    return {"view": "graph", "step": record.step, "node": node, "module": module}


def _spoilt(store: StoreLike) -> Iterator[Finding]:
    """A tensor that a node has saved was written to: backward has raised."""
    for record in store.records("graph")[-1:]:
        columns = record.columns
        failed = record.meta.get("failed")
        if not failed or "inplace" not in str(failed) or not len(columns.get("write_storage", ())):
            return
        saved_seq = columns["node_seq"][columns["saved_node"]]
        last = {int(s): i for i, s in enumerate(columns["write_storage"].tolist())}
        for index, storage in enumerate(columns["saved_storage"].tolist()):
            write = last.get(int(storage), -1)
            if write < 0 or not 0 <= saved_seq[index] < columns["write_seq"][write]:
                continue
            if columns["saved_version"][index] <= 0:
                continue
            node = int(columns["saved_node"][index])
            at = place(store, record, node)
            evidence = {
                **at, "saved": store.string(int(columns["saved_name"][index])),
                "write_op": store.string(int(columns["write_op"][write])),
                "write_source": store.string(int(columns["write_source"][write])),
            }  # fmt: skip
            yield Finding(
                "inplace-write", "error",
                f"{evidence['write_op']} ({evidence['write_source'] or 'unknown line'}) wrote to a tensor "
                f"that "
                f"{at['op']} ({at['source'] or 'unknown line'}) had saved for backward, which failed.",
                evidence, where(record, node, at["module"]),
                "Write to a new tensor instead (x = x + 1, not x += 1), or clone before the write. "
                "Operations "
                "that do not save what they return (addition, convolution, linear) may be followed by one.",
            )  # fmt: skip
            return


def _freed(store: StoreLike) -> Iterator[Finding]:
    """Backward has raised because an earlier one had freed what it needs."""
    for record in store.records("graph")[-1:]:
        columns = record.columns
        if "second time" not in str(record.meta.get("failed") or ""):
            return
        backward = columns["node_backward"].astype(np.int64)
        older = backward < backward.max(initial=0)
        older |= columns["node_seq"] < int(record.meta.get("first_seq", 0))
        older &= columns["node_kind"] != _ACCUMULATE
        again = np.flatnonzero(~older[columns["edge_from"]] & older[columns["edge_to"]])
        if not len(again):
            return
        into, used = (int(columns[name][again[0]]) for name in ("edge_to", "edge_from"))
        at, by = place(store, record, into), place(store, record, used)
        yield Finding(
            "backward-twice", "error",
            f"{by['op']} at {by['source'] or 'an unknown line'} uses {at['op']} from "
            f"{at['source'] or 'before'}, "
            "whose saved tensors an earlier backward had freed: backward failed.",
            {**at, "used_by": by["op"], "used_source": by["source"], "edges": len(again)},
            where(record, used, by["module"]),
            "A result of before is used again with its graph, such as a hidden state: detach it. If both "
            "backwards are meant, add the losses and go backward once.",
        )  # fmt: skip


def _reaches_back(store: StoreLike) -> Iterator[Finding]:
    """Backward visits nodes that were made before the step began."""
    for record in store.records("graph")[-1:]:
        columns, first = record.columns, int(record.meta.get("first_seq", 0))
        older = (columns["node_seq"] >= 0) & (columns["node_seq"] < first)
        if not older.any():
            return
        rows = np.flatnonzero(older)
        newest = int(rows[np.argmax(columns["node_seq"][rows])])
        at = place(store, record, newest)
        evidence = {
            "older_nodes": len(rows), "nodes": int((columns["node_seq"] >= 0).sum()),
            "older_saved_bytes": int(columns["node_saved_bytes"][rows].sum()), **at,
        }  # fmt: skip
        yield Finding(
            "graph-reaches-back", "warning",
            f"Backward reaches into earlier steps: {len(rows):,} of its {evidence['nodes']:,} nodes were "
            f"made "
            f"before step {record.step} began, the newest of them {at['op']} at "
            f"{at['source'] or 'an unknown line'}.",
            evidence, where(record, newest, at["module"]),
            "Something computed in an earlier step is used with its graph: a hidden state, a running sum or "
            "cached features. Detach it where the step ends, unless it is meant to be trained through.",
        )  # fmt: skip


def _outlives(store: StoreLike) -> Iterator[Finding]:
    """Tensors with graphs of earlier steps are alive when a deep step ends."""
    for record in store.records("kept")[-1:]:
        columns, count = record.columns, int(record.meta.get("count", 0))
        if not count:
            return
        holders = [store.string(int(i)) for i in columns["holder"]]
        shown = [
            f"{short_name(store.string(int(op)))} {store.string(int(shape))}: {holder or 'held by C++ alone'}"
            for op, shape, holder in zip(columns["grad_fn"], columns["shape"], holders, strict=True)
        ]
        evidence = {"tensors": count, "nodes": int(record.meta.get("nodes", 0)), "holders": shown[:SHOWN]}
        first = next(filter(None, holders), "C++ alone")
        yield Finding(
            "graph-outlives-step", "warning" if count > 2 else "info",
            f"{count:,} results keep the graphs of earlier steps alive ({evidence['nodes']:,} nodes) when "
            f"step "
            f"{record.step} ends, held by {first}.",
            evidence, where(record),
            "Keep loss.item() or tensor.detach() instead of the result itself.",
        )  # fmt: skip


def _retained(store: StoreLike) -> Iterator[Finding]:
    """retain_graph=True, and no later backward of the step uses that graph."""
    kept = {record.step: int(record.meta.get("count", 0)) for record in store.records("kept")}
    for record in store.records("graph")[-1:]:
        calls = [call for call in record.meta.get("calls", ()) if isinstance(call, dict)]
        first = int(record.meta.get("first_seq", 0))
        numbers = record.columns["node_seq"]
        older = ((numbers >= 0) & (numbers < first)).any()
        if older or kept.get(record.step, 0) or record.meta.get("failed"):
            return
        for index, call in enumerate(calls):
            used = any(later.get("shared_nodes") for later in calls[index + 1 :])
            if call.get("retain_graph") and not call.get("create_graph") and not used:
                saved = int(record.columns["node_saved_bytes"].sum())
                yield Finding(
                    "retain-graph", "info",
                    f"Backward {index + 1} of step {record.step} kept its graph (retain_graph=True) and no "
                    f"later "
                    f"backward used it: {format_bytes(saved)} stay longer than they must.",
                    {"backward": index + 1, "backwards": len(calls), "saved_bytes": saved}, where(record),
                    "Leave retain_graph out: saved tensors are then freed while backward runs.",
                )  # fmt: skip
                return


def _evaluation(store: StoreLike) -> Iterator[Finding]:
    """Forwards in eval mode with gradients on, whose graph no backward used."""
    table = store.tables["step"]
    counts = table["eval_graphs"]
    steps = np.flatnonzero(counts > 0)
    if not len(steps):
        return
    total, last = int(counts.sum()), int(table["step"][steps[-1]])
    yield Finding(
        "eval-builds-graph", "warning",
        f"Evaluation builds autograd graphs: {total:,} forwards in eval mode in {len(steps):,} steps had "
        "gradients on, and no backward followed.",
        {"forwards": total, "steps": len(steps), "last_step": last},
        {"view": "steps", "step": last},
        "Put torch.no_grad() or torch.inference_mode() round the evaluation: eval() alone does not switch "
        "gradients off.",
    )  # fmt: skip


def _hooks(store: StoreLike) -> Iterator[Finding]:
    """Hooks that grow from one deep step to the next."""
    records = store.records("graph")[-_HOOK_RECORDS:]
    if len(records) < _HOOK_RECORDS or any("node_hooks" not in record.columns for record in records):
        return
    on_modules = [int(record.meta.get("module_hooks", 0)) for record in records]
    counts = [int(one.columns["node_hooks"].sum()) + n for one, n in zip(records, on_modules, strict=True)]
    if all(after > before for before, after in pairwise(counts)):
        steps = [record.step for record in records]
        yield Finding(
            "hooks-pile-up", "warning",
            f"Hooks pile up: {counts[0]:,} on parameters and modules in step {steps[0]}, {counts[-1]:,} in "
            f"step "
            f"{steps[-1]}.",
            {"hooks": counts, "steps": steps}, where(records[-1]),
            "Register hooks once, outside of the loop, or remove each handle that is not needed any more.",
        )  # fmt: skip


def _cheap(store: StoreLike) -> Iterator[Finding]:
    """Much of what is saved was saved by operations that are cheap to compute again."""
    for record in store.records("graph")[-1:]:
        columns = record.columns
        saved = columns["node_saved_bytes"].astype(np.int64)
        ids = np.unique(columns["node_name"]).tolist()
        cheap_ids = [i for i in ids if short_name(store.string(int(i))) in _CHEAP]
        cheap = np.isin(columns["node_name"], cheap_ids)
        total, theirs = int(saved.sum()), int(saved[cheap].sum())
        if theirs < max(_CHEAP_BYTES, _CHEAP_SHARE * total):
            return
        order = np.argsort(-np.where(cheap, saved, 0), kind="stable")[:SHOWN].tolist()
        largest = []
        for node in order:
            at = place(store, record, node)
            largest.append(f"{at['module'] or '(no module)'} {at['op']}: {format_bytes(int(saved[node]))}")
        yield Finding(
            "saved-cheap", "info",
            f"{format_bytes(theirs)} of the {format_bytes(total)} that step {record.step} saves for "
            f"backward are "
            "saved by operations that are cheap to compute again.",
            {"cheap_bytes": theirs, "saved_bytes": total, "largest": largest},
            where(record, order[0], place(store, record, order[0])["module"]),
            "Where memory is short, checkpoint the modules that hold them (Saved for backward says what each "
            "would bring), or compile them: fused operations save less.",
        )  # fmt: skip
