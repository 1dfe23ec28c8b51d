"""The report of a session: a stable schema for programs, a summary for people. See docs/report.md."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from tensorscope.core.schema import LEVELS, PHASES, ROLES
from tensorscope.core.units import MISSING, format_bytes, three_digits
from tensorscope.models.findings import NEEDED_STEPS, find, missing
from tensorscope.models.memory_report import memory_report
from tensorscope.models.session_store import Record, SessionStore

SCHEMA = "tensorscope-report/1"
_DEEP = LEVELS.index("deep")
_TOP_MODULES = 10
REPLAY_ROWS = 60_000
"""Up to so many events, what other allocator settings would need is worked out unasked."""
NO_FINDINGS = {
    "nothing": "none",
    "steps": f"none yet: rules about growth need {NEEDED_STEPS} steps",
    "recorder": "none: allocations were not recorded",
}


def build_report(store: SessionStore, what_if: bool | None = None) -> dict[str, Any]:
    """Return the report as JSON-able values; what is not known is None, never a made-up number.

    Parameters
    ----------
    what_if
        Whether to replay the requests under other allocator settings; None: where that takes a moment.
    """
    replay = len(store.tables["alloc"]) <= REPLAY_ROWS if what_if is None else what_if
    return {
        "schema": SCHEMA,
        "session": _session(store),
        "target": _target(store),
        "steps": _steps(store),
        "memory": memory_report(store, replay),
        "graph": _graph(store),
        "tensors": _tensors(store),
        "findings": [asdict(finding) for finding in find(store)],
        "findings_need": missing(store),
    }


def _session(store: SessionStore) -> dict[str, Any]:
    hello = store.hello
    return {
        "script": hello.get("script"),
        "argv": hello.get("argv", []),
        "started_unix_ns": hello.get("origin_unix_ns"),
        "recorder": hello.get("recorder"),
        "recorder_note": hello.get("recorder_note"),
        "ended": None if store.bye is None else store.bye.get("reason"),
    }


def _target(store: SessionStore) -> dict[str, Any]:
    names = ("python", "torch", "devices", "pid", "host", "rank", "world_size")
    return {name: store.hello.get(name) for name in names}


def _steps(store: SessionStore) -> dict[str, Any]:
    table = store.tables["step"]
    # A deep step is slow because we look closely: it says nothing about the program's speed.
    timed = table["level"] != _DEEP
    wall_ns = (table["t1_ns"] - table["t0_ns"])[timed].astype(np.float64)
    phases_ns = {name: table[f"{name}_ns"][timed].astype(np.float64) for name in PHASES[1:]}
    split = {name: _share(values, wall_ns) for name, values in phases_ns.items()}
    known = all(value is not None for value in split.values())
    split["other"] = max(0.0, 1.0 - sum(v for v in split.values() if v is not None)) if known else None
    loss = table["loss"][np.isfinite(table["loss"])]
    return {
        "count": len(table),
        "timed": int(timed.sum()),
        "median_ms": _quantile(wall_ns, 50),
        "p95_ms": _quantile(wall_ns, 95),
        "phase_split": split,
        "overhead_percent": _overhead(table["agent_ns"][timed].astype(np.float64), wall_ns),
        "first_loss": float(loss[0]) if len(loss) else None,
        "last_loss": float(loss[-1]) if len(loss) else None,
        "dropped": int(store.heartbeat.get("dropped_frames", 0)),
    }


def _share(part: np.ndarray, whole: np.ndarray) -> float | None:
    total = float(whole.sum())
    return round(float(part.sum()) / total, 6) if total > 0 else None


def _quantile(values_ns: np.ndarray, percent: float) -> float | None:
    return round(float(np.percentile(values_ns, percent)) / 1e6, 6) if len(values_ns) else None


def _overhead(agent_ns: np.ndarray, wall_ns: np.ndarray) -> float | None:
    positive = wall_ns > 0
    return (
        round(float(np.median(100 * agent_ns[positive] / wall_ns[positive])), 4) if positive.any() else None
    )


def _graph(store: SessionStore) -> dict[str, Any] | None:
    records = store.records("graph")
    if not records:
        return None
    record = records[-1]
    columns = record.columns
    saved = columns["node_saved_bytes"].astype(np.int64)
    ids, inverse = np.unique(columns["node_module"], return_inverse=True)
    totals = np.bincount(inverse, weights=saved, minlength=len(ids)).astype(np.int64)
    counts = np.bincount(inverse, minlength=len(ids))
    order = np.argsort(-totals, kind="stable")[:_TOP_MODULES]
    return {
        "step": record.step,
        "nodes": len(saved),
        "edges": len(columns["edge_from"]),
        "saved_bytes": int(saved.sum()),
        "top_modules": [
            {"module": store.string(int(ids[i])), "nodes": int(counts[i]), "saved_bytes": int(totals[i])}
            for i in order
        ],
    }


def _tensors(store: SessionStore) -> dict[str, Any] | None:
    records = store.records("tensors")
    if not records:
        return None
    record = records[-1]
    roles = record.columns["role"]
    counts = {name: int((roles == index).sum()) for index, name in enumerate(ROLES)}
    return {
        "step": record.step,
        "count": len(roles),
        "by_role": {name: count for name, count in counts.items() if count},
        "storages": _storages(record),
        "storage_bytes": _storage_bytes(record),
    }


def _storages(record: Record) -> int:
    storage = record.columns["storage"]
    return len(np.unique(storage[storage != 0]))


def _storage_bytes(record: Record) -> int:
    storage, sizes = record.columns["storage"], record.columns["storage_bytes"]
    _, first = np.unique(storage, return_index=True)
    return int(sizes[first][storage[first] != 0].sum())


def report_text(report: dict[str, Any]) -> str:
    """Return a summary of a few lines."""
    steps, memory, graph, tensors = (report[name] for name in ("steps", "memory", "graph", "tensors"))
    lines = [
        f"{report['session']['script'] or MISSING}, torch {report['target']['torch'] or MISSING}",
        f"Steps     {steps['count']}, median {_ms(steps['median_ms'])}, p95 {_ms(steps['p95_ms'])}, "
        f"dropped frames {steps['dropped']}",
        f"Memory    peak {format_bytes(memory['peak_bytes'])}",
    ]
    for name, size in (memory["by_category"] or {}).items():
        if size:
            lines.append(f"          {format_bytes(size):>12}  {name.replace('_', ' ')}")
    lines += memory_lines(memory)
    if graph:
        lines.append(
            f"Graph     {graph['nodes']} nodes, {graph['edges']} edges, "
            f"{format_bytes(graph['saved_bytes'])} saved for backward (step {graph['step']})"
        )
    if tensors:
        lines.append(f"Tensors   {tensors['count']} in {tensors['storages']} storages")
    lines += [f"Finding   {finding['title']} {finding['advice']}" for finding in report["findings"]]
    if not report["findings"]:
        lines.append(f"Findings  {NO_FINDINGS[report['findings_need']]}")
    return "\n".join(lines)


def memory_lines(memory: dict[str, Any]) -> list[str]:
    """Return the lines about memory that matter most: leaks, what went wrong, what other settings need."""
    lines = [
        f"Leak      {format_bytes(group['bytes_per_step'])} a step, {group['category'].replace('_', ' ')} of "
        f"{group['line'] or group['module'] or 'no module'}"
        for group in (memory["leaks"] or {"groups": []})["groups"]
        if group["leaks"]
    ]
    if allocator := memory["allocator"]:
        sizes = (allocator[name] for name in ("reserved_bytes", "idle_bytes", "largest_free_bytes"))
        lines.append("Reserved  {}, {} idle, largest free block {}".format(*map(format_bytes, sizes)))
        lines += [f"Verdict   {verdict['code']} ({verdict['severity']})" for verdict in allocator["verdicts"]]
    for row in (memory["what_if"] or {"settings": []})["settings"][:1]:
        if row["difference_bytes"] < 0:
            peak, less = format_bytes(row["peak_reserved_bytes"]), format_bytes(-row["difference_bytes"])
            setting = row["environment"] or "empty_cache after each step"
            lines.append(f"Would fit {peak} reserved with {setting}, {less} less")
    lines += [f"Note      {note}" for note in (memory["source"] or {"notes": []})["notes"] or ()]
    return lines


def _ms(value: float | None) -> str:
    return MISSING if value is None else f"{three_digits(value)} ms"
