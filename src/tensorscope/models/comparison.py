"""Two sessions, files or toggle states beside each other, step against step."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.live_bytes import LiveBytes
from tensorscope.compute.session_diff import Difference, difference, growth_per_step, phase_edges
from tensorscope.core.schema import CATEGORIES, LEVELS, PHASES
from tensorscope.models.allocations import find_allocations
from tensorscope.models.allocator_history import AllocatorHistory
from tensorscope.models.allocator_state import allocator_state
from tensorscope.models.grouping import group_blocks
from tensorscope.models.memory_model import MemoryModel
from tensorscope.models.session_store import SessionStore

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

SCHEMA = "tensorscope-compare/1"
WARM_UP_STEPS = 2
"""Left out after the start and after each switch of a toggle."""
PARTS = 60
"""Columns of each third of a normalised step."""
MAX_MODULES = 40
MAX_STEPS = 200
"""Steps of a side that are looked at, the newest."""
_DEEP = LEVELS.index("deep")


@dataclass(frozen=True)
class Side:
    """What one side is made of.

    Attributes
    ----------
    variant
        Only steps with these toggles; None for all.
    steps
        Only steps in this range, both ends included; None for all.
    """

    store: SessionStore
    name: str
    variant: str | None = None
    steps: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Curve:
    """Live bytes over a normalised step: columns of forward, backward and optimizer, equally many each."""

    median_bytes: Floats
    low_bytes: Floats
    high_bytes: Floats


@dataclass(frozen=True, eq=False)
class Comparison:
    """All differences between A and B.

    Attributes
    ----------
    totals
        Step time, peak, live bytes at step ends, growth a step, reserved bytes, reserved / used.
    categories, modules
        Bytes at the step's peak, the largest difference first. Modules are lines of code where a session
        knows no modules.
    curve_a, curve_b
        None where a side has no steps.
    steps_a, steps_b, left_out_a, left_out_b
        Steps compared, and left out for warm-up or because a deep step is slow.
    """

    name_a: str
    name_b: str
    totals: tuple[Difference, ...]
    categories: tuple[Difference, ...]
    modules: tuple[Difference, ...]
    modules_are: str
    curve_a: Curve | None
    curve_b: Curve | None
    steps_a: int
    steps_b: int
    left_out_a: int
    left_out_b: int

    def total(self, name: str) -> Difference:
        """Return one of the totals."""
        return next(one for one in self.totals if one.name == name)

    def as_json(self) -> dict[str, Any]:
        """Return the documented schema; what is not known is None."""
        return {
            "schema": SCHEMA,
            "a": {"name": self.name_a, "steps": self.steps_a, "left_out": self.left_out_a},
            "b": {"name": self.name_b, "steps": self.steps_b, "left_out": self.left_out_b},
            "totals": [_json(one) for one in self.totals],
            "categories": [_json(one) for one in self.categories],
            "modules": [_json(one) for one in self.modules],
            "modules_are": self.modules_are,
        }


def _json(one: Difference) -> dict[str, Any]:
    numbers = {**asdict(one), "delta": one.delta, "ratio": one.ratio}
    plain = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in numbers.items()}
    return {**plain, "is_real": one.is_real if math.isfinite(one.noise) else None}


def variants_of(store: SessionStore) -> list[str]:
    """Return the toggle states of a session in the order in which they came; "" is plain."""
    ids = store.tables["step"]["variant"]
    return list(dict.fromkeys(store.string(int(one)) for one in ids))


def compare(a: Side, b: Side) -> Comparison:
    """Compare two sides; any thread, on stores that nobody writes to."""
    one, other = _Measured(a), _Measured(b)
    totals = [
        difference(name, getattr(one, name), getattr(other, name))
        for name in ("step_ms", "peak_bytes", "end_bytes")
    ]
    totals += [
        Difference(
            "growth_bytes_per_step", growth_per_step(one.end_bytes), growth_per_step(other.end_bytes), 0.0
        ),
        Difference("reserved_bytes", one.reserved, other.reserved, 0.0),
        Difference("reserved_ratio", one.reserved_ratio, other.reserved_ratio, 0.0),
    ]
    names = tuple(dict.fromkeys((*one.modules, *other.modules)))
    nothing = np.zeros(1)
    modules = [
        difference(name, one.modules.get(name, nothing), other.modules.get(name, nothing)) for name in names
    ]
    categories = [
        difference(name, one.categories[:, index], other.categories[:, index])
        for index, name in enumerate(CATEGORIES)
    ]
    ranked = sorted(modules, key=lambda d: -abs(d.delta) if math.isfinite(d.delta) else 0.0)[:MAX_MODULES]
    return Comparison(
        a.name, b.name, tuple(totals), tuple(categories), tuple(ranked), one.modules_are, one.curve(),
        other.curve(), len(one.rows), len(other.rows), one.left_out, other.left_out,
    )  # fmt: skip


class _Measured:
    """The steps of one side, each with its numbers."""

    def __init__(self, side: Side) -> None:
        self.side, self.store = side, side.store
        self.rows, self.left_out = self._chosen()
        table = self.store.tables["step"]
        self.step_ms = (table["t1_ns"][self.rows] - table["t0_ns"][self.rows]) / 1e6
        self.model = MemoryModel(self.store)
        while self.model.update(1 << 20):
            pass
        self.spans = self._spans()
        self.points = self._peak_points()
        total = self.model.live.total_bytes
        self.peak_bytes = total[self.points].astype(float) if len(self.points) else np.empty(0)
        self.end_bytes = self._ends()
        self.categories = self.model.live.series_bytes(self.points).astype(float)
        if not len(self.points):
            self.categories = np.full((1, len(CATEGORIES)), np.nan)
        self.modules_are, self.modules = self._by_module()
        self.reserved, self.reserved_ratio = self._reserved()

    def _chosen(self) -> tuple[Longs, int]:
        """Return rows of the ``step`` table, and how many were left out."""
        table, side = self.store.tables["step"], self.side
        wanted = np.ones(len(table), bool)
        if side.variant is not None:
            ids = [
                i for i in np.unique(table["variant"]).tolist() if self.store.string(int(i)) == side.variant
            ]
            wanted &= np.isin(table["variant"], ids)
        if side.steps is not None:
            wanted &= (table["step"] >= side.steps[0]) & (table["step"] <= side.steps[1])
        kept = wanted & (table["level"] != _DEEP)
        variant = table["variant"]
        switches = (
            np.flatnonzero(np.append(True, variant[1:] != variant[:-1])) if len(table) else np.empty(0, int)
        )
        for at in switches.tolist():
            kept[at : at + WARM_UP_STEPS] = False
        if not kept.any():
            kept = wanted
        rows = np.flatnonzero(kept)[-MAX_STEPS:]
        return rows, int(wanted.sum()) - len(rows)

    def _spans(self) -> list[tuple[int, int]]:
        """Return begin and end of each step; a session without steps is one."""
        table, origin = self.store.tables["step"], self.store.origin_ns
        if len(self.rows):
            return [
                (int(table["t0_ns"][r]) - origin, int(table["t1_ns"][r]) - origin) for r in self.rows.tolist()
            ]
        times = self.model.live.times_ns
        return [(int(times[0]), int(times[-1]) + 1)] if len(times) else []

    def _peak_points(self) -> Longs:
        live, until = self.model.live, self.model.known_until_ns() + 1
        found = (
            [int(live.columns(np.array(span), until).high_point[0]) for span in self.spans]
            if len(live)
            else []
        )
        return np.array([point for point in found if point >= 0], np.int64)

    def _ends(self) -> Floats:
        live = self.model.live
        points = [live.point_at(end) for _, end in self.spans]
        return live.total_bytes[[point for point in points if point >= 0]].astype(float)

    def _by_module(self) -> tuple[str, dict[str, Floats]]:
        """Return bytes at each step's peak by module; by line of code where there are no modules."""
        modules = self.store.tables["alloc"]["module"]
        group = "module" if (modules != 0).any() or not len(modules) else "stack"
        if not len(self.points):
            return group, {}
        grouped = group_blocks(self.store, find_allocations(self.store), group)
        held = _at_peaks(grouped.live, self.spans, self.model.known_until_ns() + 1)
        labels = [label or "-" for label in grouped.labels]
        if grouped.others:
            labels[-1] = "(others)"
        return group, {label: held[:, index] for index, label in enumerate(labels)}

    def _reserved(self) -> tuple[float, float]:
        history = AllocatorHistory(self.store)
        if history.final is None:
            return math.nan, math.nan
        state = allocator_state(history, history.events - 1)
        peak = float(self.peak_bytes.max()) if len(self.peak_bytes) else float(state.used_bytes)
        return float(state.reserved_bytes), state.reserved_bytes / peak if peak else math.nan

    def curve(self) -> Curve | None:
        """Return the live bytes over the normalised step."""
        live, until = self.model.live, self.model.known_until_ns() + 1
        if not len(live) or not self.spans:
            return None
        rows = []
        for number, span in enumerate(self.spans):
            bounds = self._bounds(int(self.rows[number]), span) if len(self.rows) else _thirds(span)
            edges = phase_edges(bounds, PARTS)
            point = live.columns(edges, until).high_point
            rows.append(np.where(point >= 0, live.total_bytes[np.maximum(point, 0)], 0))
        table = np.array(rows, float)
        return Curve(np.median(table, axis=0), table.min(axis=0), table.max(axis=0))

    def _bounds(self, row: int, span: tuple[int, int]) -> tuple[int, int, int, int]:
        step, phases = int(self.store.tables["step"]["step"][row]), self.store.tables["phase"]
        mine = np.flatnonzero(phases["step"] == step)
        kinds, begins = phases["phase"][mine], phases["t0_ns"][mine] - self.store.origin_ns
        found = []
        for name in ("backward", "optimizer"):
            here = begins[kinds == PHASES.index(name)]
            found.append(int(here.min()) if len(here) else -1)
        optimizer = found[1] if span[0] <= found[1] <= span[1] else span[1]
        backward = found[0] if span[0] <= found[0] <= optimizer else optimizer
        return span[0], backward, optimizer, span[1]


def _thirds(span: tuple[int, int]) -> tuple[int, int, int, int]:
    length = span[1] - span[0]
    return span[0], span[0] + length // 3, span[0] + 2 * length // 3, span[1]


def _at_peaks(live: LiveBytes, spans: list[tuple[int, int]], until: int) -> Floats:
    points = [int(live.columns(np.array(span), until).high_point[0]) for span in spans]
    found: Floats = live.series_bytes(np.array([p for p in points if p >= 0], np.int64)).astype(float)
    return found
