"""The memory part of the report: peaks, categories, leaks, what is saved, verdicts, what would fit."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tensorscope.core.schema import CATEGORIES
from tensorscope.models.allocations import Allocations, find_allocations
from tensorscope.models.allocator_history import AllocatorHistory
from tensorscope.models.allocator_state import allocator_state
from tensorscope.models.frozen_store import StoreLike
from tensorscope.models.peaks import Peak, find_peaks
from tensorscope.models.saved_ledger import saved_ledger
from tensorscope.models.survivors import find_survivors
from tensorscope.models.verdicts import find_verdicts
from tensorscope.models.what_if import what_if_table
from tensorscope.models.what_if_report import what_if_dict

TOP = 20
"""Rows of each table; the panels show all."""


def memory_report(store: StoreLike, what_if: bool = False) -> dict[str, Any]:
    """Return what is known of memory as JSON-able values; what is not known is None.

    Parameters
    ----------
    what_if
        Whether to replay the requests under other allocator settings, too: seconds for long sessions.
    """
    blocks = find_allocations(store)
    found = find_peaks(store, blocks)
    return {
        **_summary(store, blocks, found.peaks),
        "peaks": [_peak(peak) for peak in found.peaks],
        "spike_bytes": found.spike_bytes if found.peaks else None,
        "leaks": _leaks(store, blocks),
        "saved": _saved(store, blocks),
        "allocator": _allocator(store),
        "what_if": what_if_dict(what_if_table(store)) if what_if else None,
        "source": _source(store),
    }


def _summary(store: StoreLike, blocks: Allocations, peaks: tuple[Peak, ...]) -> dict[str, Any]:
    if not peaks:
        return {"peak_bytes": None, "peak_step": None, "by_category": None, "end_bytes": None}
    peak = peaks[0]
    by_category = dict.fromkeys(CATEGORIES, 0)
    for part in peak.parts:
        by_category[part.category] += part.bytes
    end = blocks.alive_before(len(blocks.owner))
    steps = store.tables["alloc"]["step"]
    return {
        "peak_bytes": peak.total_bytes,
        "peak_step": int(steps[peak.row - 1]) if peak.row > 0 else None,
        "by_category": by_category,
        "end_bytes": int(blocks.size_bytes[end].sum()),
    }


def _peak(peak: Peak) -> dict[str, Any]:
    return {
        "t_ns": peak.t_ns, "step": peak.step, "phase": peak.phase, "total_bytes": peak.total_bytes,
        "blocks": sum(part.count for part in peak.parts),
        "parts": [
            {"category": part.category, "module": part.module, "line": part.line, "bytes": part.bytes,
             "blocks": part.count, "transient_bytes": part.transient_bytes}
            for part in peak.parts[:TOP]
        ],
    }  # fmt: skip


def _leaks(store: StoreLike, blocks: Allocations) -> dict[str, Any] | None:
    found = find_survivors(store, blocks)
    if found.first_step < 0:
        return None
    return {
        "first_step": found.first_step, "last_step": found.last_step,
        "bytes_per_step": found.bytes_per_step,
        "groups": [
            {"category": row.category, "module": row.module, "line": row.line, "leaks": row.growth.leaks,
             "bytes_per_step": row.growth.bytes_per_step, "total_bytes": row.growth.total_bytes,
             "blocks": row.growth.blocks, "steps_seen": row.growth.steps_seen,
             "steps_looked_at": row.growth.steps_looked_at}
            for row in found.rows[:TOP]
        ],
    }  # fmt: skip


def _saved(store: StoreLike, blocks: Allocations) -> dict[str, Any] | None:
    ledger = saved_ledger(store, blocks)
    if ledger is None:
        return None
    rows = sorted(ledger.rows, key=lambda row: -row.saved_bytes)[:TOP]
    return {
        "step": ledger.step, "saved_bytes": ledger.saved_bytes, "step_peak_bytes": ledger.peak_bytes,
        "by_node": [{"node": n, "bytes": b, "tensors": c} for n, b, c in ledger.by_node[:TOP]],
        "modules": [
            {**asdict(row), "predicted_peak_bytes": _known(row.predicted_peak_bytes),
             "recompute_ns": _known(row.recompute_ns)}
            for row in rows
        ],
    }  # fmt: skip


def _known(value: int) -> int | None:
    return value if value >= 0 else None


def _allocator(store: StoreLike) -> dict[str, Any] | None:
    """Return the caching allocator's end state and what went wrong with it; None without one."""
    history = AllocatorHistory(store)
    if not history.events and history.final is None:
        return None
    state = allocator_state(history, history.events - 1)
    return {
        "events": history.events, "reserved_bytes": state.reserved_bytes, "used_bytes": state.used_bytes,
        "pending_bytes": state.pending_bytes, "idle_bytes": state.idle_bytes,
        "largest_free_bytes": state.largest_free_bytes, "releasable_bytes": state.releasable_bytes,
        "pinned_bytes": state.pinned_bytes, "rounding_bytes": state.rounding_bytes,
        "segments": len(state.segments),
        "verdicts": [asdict(verdict) for verdict in find_verdicts(store, history)],
    }  # fmt: skip


def _source(store: StoreLike) -> dict[str, Any] | None:
    records = store.records("source")
    if not records:
        return None
    names = ("format", "ordered", "notes", "unknown")
    return {name: records[-1].meta.get(name) for name in names}
