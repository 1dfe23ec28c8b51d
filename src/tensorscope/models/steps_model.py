"""What the steps view shows: time by phase, loss, memory peak, marks; exact at any number of steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.finite_series import FiniteSeries
from tensorscope.compute.growing_array import GrowingArray
from tensorscope.compute.robust_stats import percentile
from tensorscope.core.schema import LEVELS, PHASES
from tensorscope.models.session_store import SessionStore

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]

DEEP = LEVELS.index("deep")
SAMPLE_ROWS = 50_000
"""Percentiles of more steps than this are taken from evenly spaced ones, and said to be."""
MAX_SPANS = 200
PHASE_COLUMNS = ("forward_ns", "backward_ns", "optimizer_ns")


@dataclass(frozen=True)
class StepsIntent:
    """What the person wants to see: an explicit window of the axis, else the last `steps` (0: all)."""

    window: tuple[float, float] | None = None
    steps: int = 0
    columns: int = 1000


@dataclass(frozen=True)
class StepDetails:
    """Every value of one step; NaN where not recorded."""

    row: int
    step: int
    duration_ns: int
    phase_ns: tuple[int, ...]
    loss: float
    grad_norm: float
    peak_bytes: float
    live_bytes: float
    rss_bytes: float
    agent_ns: int
    level: str
    variant: str


@dataclass(frozen=True)
class VariantSpan:
    """Neighbouring steps `first` to `last` of one variant ("" is the plain program)."""

    first: int
    last: int
    variant: str


@dataclass(frozen=True, eq=False)
class StepsSnapshot:
    """A frozen picture of the window; the arrays of one group are equally long.

    Attributes
    ----------
    bar_x0, bar_x1, phase_ms
        One bar a step, or a pixel column: then it is the slowest step of the column, whole, so
        the phases add up to a time that was measured. ``phase_ms`` is (bars, phases).
    fastest_ms
        Time of the fastest step in each bar's column.
    """

    first: float
    last: float
    count: int
    bar_x0: Floats
    bar_x1: Floats
    bar_rows: Longs
    phase_ms: Floats
    fastest_ms: Floats
    loss_x: Floats
    loss_y: Floats
    loss_missing_x: Floats
    peak_x: Floats
    peak_bytes: Floats
    rss_x: Floats
    rss_bytes: Floats
    spans: tuple[VariantSpan, ...] = ()
    deep_x: Floats = field(default_factory=lambda: np.empty(0))
    median_ms: float = math.nan
    p95_ms: float = math.nan
    max_ms: float = math.nan
    sampled: bool = False
    agent_share: float = math.nan


class StepsModel:
    """Indexes the ``step`` table as it grows, and resolves windows of it. GUI thread."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._rows = 0
        self._duration, self._loss = FiniteSeries(), FiniteSeries()
        self._peak, self._rss = FiniteSeries(), FiniteSeries()
        self._agent_ns, self._total_ns = GrowingArray(np.int64), GrowingArray(np.int64)
        self._switch_rows, self._deep_rows = GrowingArray(np.int64), GrowingArray(np.int64)
        self._bad_loss_rows = GrowingArray(np.int64)
        self._last_variant = 0

    def __len__(self) -> int:
        return self._rows

    @property
    def rows_touched(self) -> int:
        """How many rows and blocks have been read so far; tests bound it."""
        return sum(s.rows_touched for s in (self._duration, self._loss, self._peak, self._rss))

    def column(self, name: str) -> NDArray[Any]:
        """Return an indexed column of the ``step`` table; borrowed."""
        return self._store.tables["step"][name][: self._rows]

    def update(self, max_rows: int = 250_000) -> bool:
        """Index at most `max_rows` new rows; return whether more wait."""
        first, waiting = self._rows, len(self._store.tables["step"])
        self._rows = min(waiting, first + max_rows)
        if first == self._rows:
            return False
        new = {name: self.column(name)[first:] for name in _INDEXED}
        duration = new["t1_ns"] - new["t0_ns"]
        self._duration.append(first, duration.astype(float))
        self._loss.append(first, new["loss"])
        self._peak.append(first, np.where(new["peak_bytes"] >= 0, new["peak_bytes"], np.nan))
        self._rss.append(first, np.where(new["rss_bytes"] > 0, new["rss_bytes"], np.nan))
        for sums, values in ((self._agent_ns, new["agent_ns"]), (self._total_ns, duration)):
            sums.append(np.cumsum(values) + (sums.view[-1] if len(sums) else 0))
        before = np.concatenate([[self._last_variant], new["variant"][:-1]])
        self._switch_rows.append(first + np.flatnonzero(new["variant"] != before))
        self._last_variant = int(new["variant"][-1])
        self._deep_rows.append(first + np.flatnonzero(new["level"] == DEEP))
        self._bad_loss_rows.append(first + np.flatnonzero(~np.isfinite(new["loss"])))
        return self._rows < waiting

    def resolve(self, intent: StepsIntent) -> StepsSnapshot:
        """Return what the window holds; its cost grows with `intent.columns`, not with steps."""
        steps = self.column("step")
        if not len(steps):
            return _empty()
        start = steps[-intent.steps] if 0 < intent.steps < len(steps) else steps[0]
        first, last = intent.window or (float(start) - 0.5, float(steps[-1]) + 0.5)
        begin, end = np.searchsorted(steps, [first, last])
        edges = self._edges(first, last, int(begin), int(end), max(intent.columns, 1))
        bars = self._bars(edges)
        loss_rows, loss = self._loss.envelope(edges)
        peak_rows, peak = self._peak.envelope(edges)
        rss_rows, rss = self._rss.envelope(edges)
        sample = np.arange(begin, end, max(1, -(-(end - begin) // SAMPLE_ROWS)))
        times = (self.column("t1_ns")[sample] - self.column("t0_ns")[sample]) / 1e6
        return StepsSnapshot(
            first, last, int(end - begin), *bars,
            loss_x=steps[loss_rows].astype(float), loss_y=loss,
            loss_missing_x=steps[self._missing_loss(edges)].astype(float),
            peak_x=steps[peak_rows].astype(float), peak_bytes=peak,
            rss_x=steps[rss_rows].astype(float), rss_bytes=rss,
            spans=self._spans(int(begin), int(end)),
            deep_x=steps[_thinned(self._deep_rows.view, edges)].astype(float),
            median_ms=percentile(times, 50), p95_ms=percentile(times, 95),
            max_ms=float(bars[3].sum(axis=1).max(initial=0.0)),
            sampled=len(sample) < end - begin, agent_share=self._agent_share(int(begin), int(end)),
        )  # fmt: skip

    def details(self, x: float) -> StepDetails | None:
        """Return the step nearest to `x` on the axis, None before the first step."""
        steps = self.column("step")
        if not len(steps):
            return None
        after = int(np.searchsorted(steps, x))
        near = [row for row in (after - 1, after) if 0 <= row < len(steps)]
        return self.details_of_row(min(near, key=lambda row: abs(steps[row] - x)))

    def details_of_row(self, row: int) -> StepDetails:
        """Return every value of one row."""
        at = {name: self.column(name)[row] for name in self._store.tables["step"].names}
        duration = int(at["t1_ns"] - at["t0_ns"])
        phases = [int(at[name]) for name in PHASE_COLUMNS]
        level = int(at["level"])
        peak, live, rss = (float(at[name]) if at[name] >= 0 else math.nan for name in _BYTES)
        return StepDetails(
            row=row, step=int(at["step"]), duration_ns=duration,
            phase_ns=(max(0, duration - sum(phases)), *phases),
            loss=float(at["loss"]), grad_norm=float(at["grad_norm"]),
            peak_bytes=peak, live_bytes=live, rss_bytes=rss, agent_ns=int(at["agent_ns"]),
            level=LEVELS[level] if level < len(LEVELS) else "",
            variant=self._store.string(int(at["variant"])),
        )  # fmt: skip

    def _edges(self, first: float, last: float, begin: int, end: int, columns: int) -> Longs:
        """Return row edges of the columns: one row each while there is room for 3 px bars."""
        if end - begin <= columns // 3:
            return np.arange(begin, end + 1, dtype=np.int64)
        at = np.linspace(first, last, columns + 1)
        return np.clip(np.searchsorted(self.column("step"), at), begin, end).astype(np.int64)

    def _bars(self, edges: Longs) -> tuple[Floats, Floats, Longs, Floats, Floats]:
        slowest, fastest = self._duration.highest(edges), self._duration.lowest(edges)
        some = slowest >= 0
        rows, low = slowest[some], fastest[some]
        steps = self.column("step")
        if (np.diff(edges) == 1).all():
            x0, x1 = steps[rows] - 0.4, steps[rows] + 0.4
        else:
            x0, x1 = steps[edges[:-1][some]] - 0.5, steps[edges[1:][some] - 1] + 0.5
        duration = self.column("t1_ns")[rows] - self.column("t0_ns")[rows]
        known = np.stack([self.column(name)[rows] for name in PHASE_COLUMNS], axis=1)
        other = np.maximum(duration - known.sum(axis=1), 0)
        phases = np.concatenate([other[:, None], known], axis=1) / 1e6
        fast = (self.column("t1_ns")[low] - self.column("t0_ns")[low]) / 1e6
        return x0, x1, rows, phases, fast

    def _spans(self, begin: int, end: int) -> tuple[VariantSpan, ...]:
        """Return the variants of the window in order; none where there are more than can be told apart."""
        switches = self._switch_rows.view
        inner = switches[np.searchsorted(switches, begin, side="right") : np.searchsorted(switches, end)]
        if begin >= end or len(inner) >= MAX_SPANS:
            return ()
        rows = [begin, *inner.tolist(), end]
        steps, variants = self.column("step"), self.column("variant")
        return tuple(
            VariantSpan(int(steps[a]), int(steps[b - 1]), self._store.string(int(variants[a])))
            for a, b in pairwise(rows)
        )

    def _missing_loss(self, edges: Longs) -> Longs:
        """Return rows whose loss is not finite; none where a loss was never seen at all."""
        return _thinned(self._bad_loss_rows.view, edges) if len(self._loss) else np.empty(0, np.int64)

    def _agent_share(self, begin: int, end: int) -> float:
        """Return what the agent cost over the window as a share of the rest of the time."""
        if begin >= end:
            return math.nan
        agent, total = (
            int(sums.view[end - 1]) - (int(sums.view[begin - 1]) if begin else 0)
            for sums in (self._agent_ns, self._total_ns)
        )
        return agent / (total - agent) if total > agent else math.nan


_INDEXED = ("t0_ns", "t1_ns", "loss", "peak_bytes", "rss_bytes", "agent_ns", "variant", "level")
_BYTES = ("peak_bytes", "live_bytes", "rss_bytes")


def _thinned(rows: Longs, edges: Longs) -> Longs:
    """Return the first of `rows` in each column."""
    at = np.searchsorted(rows, edges)
    return rows[at[:-1][at[:-1] < at[1:]]]


def _empty() -> StepsSnapshot:
    none, rows = np.empty(0), np.empty(0, np.int64)
    return StepsSnapshot(
        0.0,
        1.0,
        0,
        none,
        none,
        rows,
        np.empty((0, len(PHASES))),
        none,
        none,
        none,
        none,
        none,
        none,
        none,
        none,
    )
