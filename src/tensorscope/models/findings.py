"""Runs the rules on a session store."""

from __future__ import annotations

import numpy as np

from tensorscope.compute.growth_rules import (
    MIN_STEPS,
    RECENT_STEPS,
    WARM_UP_STEPS,
    GrowthData,
    growth_findings,
)
from tensorscope.compute.retention import AllocRows
from tensorscope.core.finding import SEVERITIES, Finding
from tensorscope.models.frozen_store import FrozenStore, StoreLike
from tensorscope.models.gradient_findings import gradient_findings
from tensorscope.models.graph_findings import graph_findings
from tensorscope.models.session_store import SessionStore

FindingsStore = SessionStore | FrozenStore

NEEDED_STEPS = MIN_STEPS + RECENT_STEPS + WARM_UP_STEPS
NEEDS = ("nothing", "recorder", "steps")


def find(store: FindingsStore) -> list[Finding]:
    """Return what can be proved of the session, the worst first."""
    data = _growth_data(store)
    found = growth_findings(data) if data is not None else []
    found += [*gradient_findings(store), *graph_findings(store)]
    return sorted(found, key=lambda finding: -SEVERITIES.index(finding.severity))


def missing(store: StoreLike) -> str:
    """Return which of `NEEDS` the rules about growth lack before they can say anything."""
    if not store.records("baseline"):
        return "recorder"
    return "nothing" if len(store.tables["step"]) >= NEEDED_STEPS else "steps"


def _growth_data(store: FindingsStore) -> GrowthData | None:
    """Return what the growth rules look at, None without a recorder."""
    baselines = store.records("baseline")
    if not baselines:
        return None
    # Frees were lost before a later baseline, so only what came after it proves anything.
    start = baselines[-1].rows["alloc"]
    first_step = baselines[-1].rows["step"]
    alloc, steps = store.tables["alloc"], store.tables["step"]
    names = ("address", "delta_bytes", "device", "step", "category", "module")
    rows = AllocRows(*(alloc[name][start:] for name in names))
    known = steps["live_bytes"][first_step:] >= 0
    graph = store.records("graph")
    saved = graph[0].columns["saved_storage"] if graph else np.empty(0, np.uint64)
    return GrowthData(
        rows,
        steps["step"][first_step:][known].astype(np.int64),
        steps["live_bytes"][first_step:][known],
        saved.astype(np.uint64),
        graph[0].step if graph else -1,
        dict(enumerate(store.strings)),  # not only those of the rows: to find them takes longer
    )
