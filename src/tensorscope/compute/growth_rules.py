"""Rules about memory that grows from step to step. Pure functions; silent unless they can prove it.

What counts as growth: in each of at least `MIN_STEPS` successive steps up to the end, blocks of at
least `MIN_BYTES` were allocated that are still alive when the recording ends, and the live bytes at
step ends rose by as much. So neither warm-up (optimizer state of the first steps), nor a high-water
mark, a cache that has filled up, or a queue that drops its oldest entries can look like growth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.retention import AllocRows, Longs, alive_at_end, bytes_by_step, longest_tail
from tensorscope.core.finding import Finding
from tensorscope.core.schema import CATEGORIES
from tensorscope.core.units import format_bytes

MIN_STEPS = 8
MIN_BYTES = 1024
WARM_UP_STEPS = 3
RECENT_STEPS = 2
"""The newest steps' blocks may be freed in the next one: they prove nothing."""
_IN_GRAPHS = (CATEGORIES.index("activation"), CATEGORIES.index("input"))
"""Categories of what a graph saves beside parameters, which live on anyway."""
_PROOF_SHARE = 0.5
"""Of the deep step's saved bytes so much must be alive: a result that is cached on purpose is less."""
_SHOWN_MODULES = 5


@dataclass(frozen=True, eq=False)
class GrowthData:
    """What the rules look at.

    Attributes
    ----------
    rows
        Events since the newest baseline.
    steps, live_bytes
        Complete steps since then, and the live bytes at their ends.
    saved_storages
        Storage addresses that the graph of step `graph_step` saved; empty without a deep step.
    module_names
        Texts of the ids in ``rows.module``.
    """

    rows: AllocRows
    steps: Longs
    live_bytes: Longs
    saved_storages: NDArray[np.uint64]
    graph_step: int
    module_names: dict[int, str]


def growth_findings(data: GrowthData) -> list[Finding]:
    """Return what grows: first graphs that are kept, then anything else."""
    alive = alive_at_end(data.rows)
    kept_graph = _proven_saved_bytes(data, alive)
    found = []
    if kept_graph:
        of_graph = np.isin(data.rows.category[alive], _IN_GRAPHS)
        growth = _growth(data, alive[of_graph])
        if growth is not None:
            found.append(_graph_kept(data, growth, kept_graph))
            alive = alive[~of_graph]
    growth = _growth(data, alive)
    if growth is not None:
        found.append(_live_bytes_grow(data, growth))
    return found


@dataclass(frozen=True, eq=False)
class _Growth:
    first_step: int
    last_step: int
    bytes_per_step: int
    alive: Longs
    live_rise_bytes: int


def _growth(data: GrowthData, alive: Longs) -> _Growth | None:
    steps = data.steps[WARM_UP_STEPS : len(data.steps) - RECENT_STEPS]
    live = data.live_bytes[WARM_UP_STEPS : len(data.live_bytes) - RECENT_STEPS]
    retained = bytes_by_step(data.rows, alive, steps)
    tail = longest_tail(retained >= MIN_BYTES)
    if tail < MIN_STEPS or tail * 2 < len(steps):
        return None
    first = len(steps) - tail
    rise = int(live[-1] - live[first - 1]) if first else int(live[-1] - live[0] + retained[0])
    if rise < 0.8 * retained[first:].sum():
        return None
    inside = (data.rows.step[alive] >= steps[first]) & (data.rows.step[alive] <= steps[-1])
    per_step = int(np.median(retained[first:]))
    return _Growth(int(steps[first]), int(steps[-1]), per_step, alive[inside], rise)


def _proven_saved_bytes(data: GrowthData, alive: Longs) -> int:
    """Return the bytes of the deep step's saved tensors that outlived it by more than `RECENT_STEPS`.

    0 unless most of them did: then it is the graph that lives, not one result of it.
    """
    if not len(data.steps) or data.graph_step > data.steps[-1] - RECENT_STEPS:
        return 0
    rows = data.rows
    made = (rows.delta_bytes > 0) & (rows.step == data.graph_step) & np.isin(rows.category, _IN_GRAPHS)
    saved = made & np.isin(rows.address, data.saved_storages)
    held = alive[saved[alive]]
    held_bytes = int(rows.delta_bytes[held].sum())
    # An address may have been used twice within the step; the larger block is the honest measure.
    first = np.unique(rows.address[saved], return_inverse=True)[1]
    sizes = np.zeros(int(first.max(initial=-1)) + 1, np.int64)
    np.maximum.at(sizes, first, rows.delta_bytes[saved])
    return held_bytes if held_bytes >= _PROOF_SHARE * sizes.sum() and held_bytes else 0


def _modules(data: GrowthData, growth: _Growth) -> list[dict[str, object]]:
    """Return the modules whose blocks grow most, the largest first."""
    modules, sizes = data.rows.module[growth.alive], data.rows.delta_bytes[growth.alive]
    ids, inverse = np.unique(modules, return_inverse=True)
    totals = np.bincount(inverse, weights=sizes).astype(np.int64)
    order = np.argsort(-totals, kind="stable")[:_SHOWN_MODULES]
    return [{"module": data.module_names.get(int(ids[i]), ""), "bytes": int(totals[i])} for i in order]


def _categories(data: GrowthData, growth: _Growth) -> dict[str, int]:
    totals = np.bincount(
        data.rows.category[growth.alive],
        weights=data.rows.delta_bytes[growth.alive],
        minlength=len(CATEGORIES),
    )
    return {name: int(size) for name, size in zip(CATEGORIES, totals, strict=False) if size}


def _evidence(data: GrowthData, growth: _Growth) -> dict[str, object]:
    return {
        "first_step": growth.first_step,
        "last_step": growth.last_step,
        "bytes_per_step": growth.bytes_per_step,
        "live_rise_bytes": growth.live_rise_bytes,
        "blocks": len(growth.alive),
        "by_category_bytes": _categories(data, growth),
        "top_modules": _modules(data, growth),
    }


def _where(data: GrowthData, growth: _Growth) -> dict[str, object]:
    modules = _modules(data, growth)
    module = str(modules[0]["module"]) if modules else ""
    return {"view": "memory", "step": growth.last_step, "module": module}


def _graph_kept(data: GrowthData, growth: _Growth, saved_bytes: int) -> Finding:
    per_step = format_bytes(growth.bytes_per_step)
    return Finding(
        "graph-kept",
        "error",
        f"The autograd graph is kept across steps: {per_step} that it holds stay alive every step "
        f"(steps {growth.first_step} to {growth.last_step}).",
        {
            **_evidence(data, growth),
            "graph_step": data.graph_step,
            "saved_still_alive_bytes": saved_bytes,
        },
        _where(data, growth),
        "Something that outlives the step still refers to a result with a grad_fn: a list of losses, a "
        "running sum, or a hidden state. Keep loss.item() or tensor.detach() instead.",
    )


def _live_bytes_grow(data: GrowthData, growth: _Growth) -> Finding:
    categories = _categories(data, growth)
    largest = max(categories, key=lambda name: categories[name])
    return Finding(
        "live-bytes-grow",
        "warning",
        f"Live bytes grow every step: {format_bytes(growth.bytes_per_step)} allocated in each of steps "
        f"{growth.first_step} to {growth.last_step} are still alive, most of it {largest.replace('_', ' ')}.",
        _evidence(data, growth),
        _where(data, growth),
        "Look at who keeps the blocks of these modules: a list or cache that only grows, or predictions and "
        "losses that are collected on the device; keep tensor.detach().cpu() or loss.item() instead.",
    )
