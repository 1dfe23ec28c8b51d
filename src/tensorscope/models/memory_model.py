"""What the memory view shows: allocator bytes by category over time, exact at any zoom."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.live_bytes import UNKNOWN, LiveBytes
from tensorscope.core.schema import CATEGORIES
from tensorscope.models.block_names import lasting_names
from tensorscope.models.live_blocks import AliveBlock, LiveBlocks
from tensorscope.models.session_store import Record, SessionStore

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]

ALL_DEVICES = -2
STACK_ORDER = (0, 2, 3, 1, 4, 5, 6, 7)
"""Categories from the bottom of the stack to its top: what stays for the whole run lies lowest."""
MIN_SPAN_NS = 1_000
RESERVE_ROWS = 500_000
"""With more events than this waiting, room for them is made at once."""
MAX_BANDS = 400
"""Bands narrower than a few pixels tell nothing: with more than this in the window, none is drawn."""


@dataclass(frozen=True)
class MemoryIntent:
    """What the person wants to see.

    Attributes
    ----------
    window_ns
        Explicit span, in ns since the session's origin; None: the last `steps` steps.
    steps
        How many steps up to `end_step`; 0 for all.
    end_step
        Last step of the span; -1 for the newest.
    hidden
        Categories left out of the stack (the total stays what it is).
    device
        -1 CPU, >= 0 CUDA index, `ALL_DEVICES`.
    """

    window_ns: tuple[int, int] | None = None
    steps: int = 5
    end_step: int = -1
    columns: int = 1000
    hidden: frozenset[int] = frozenset()
    device: int = ALL_DEVICES


@dataclass(frozen=True, eq=False)
class Bands:
    """Spans in ns since the origin; `kind` is a phase index, or a step number."""

    t0_ns: Longs
    t1_ns: Longs
    kind: Longs

    def at_least(self, length_ns: int) -> Bands:
        """Return those that are as long as that."""
        long = self.t1_ns - self.t0_ns >= length_ns
        return Bands(self.t0_ns[long], self.t1_ns[long], self.kind[long])


@dataclass(frozen=True, eq=False)
class MemorySnapshot:
    """A frozen picture of the window. Times are ns since the session's origin.

    Attributes
    ----------
    t0_ns, t1_ns
        Spans over which the columns are equal, one entry a drawn column.
    category_bytes
        (columns, categories): live bytes at the event where the column's total is highest.
    high_bytes, low_bytes
        Largest and smallest total within each column; the difference is what the zoom hides.
    now_bytes
        Live bytes by category at the end of the window.
    peak_t_ns, peak_bytes
        Where the total is highest in the window, and what it consists of there.
    """

    window_ns: tuple[int, int]
    t0_ns: Longs
    t1_ns: Longs
    category_bytes: Longs
    high_bytes: Longs
    low_bytes: Longs
    now_bytes: Longs
    peak_t_ns: int
    peak_bytes: Longs
    phases: Bands
    steps: Bands
    gaps: Bands
    rss_t_ns: Longs
    rss_bytes: Longs
    events: int


@dataclass(frozen=True)
class Moment:
    """One instant: what was alive, and the last event at or before it (row -1: a baseline)."""

    t_ns: int
    step: int
    phase: int
    total_bytes: int
    category_bytes: tuple[int, ...]
    event_row: int
    event_t_ns: int


class MemoryModel:
    """Indexes the ``alloc`` table and the baselines as they arrive, and resolves windows of them."""

    def __init__(self, store: SessionStore, device: int = ALL_DEVICES) -> None:
        self._store = store
        self.device = device
        self.live = LiveBytes()
        self.blocks = LiveBlocks(store)
        self._rows = 0
        self._baselines = 0
        self._recorder_total: dict[int, int] = {}
        self.devices: frozenset[int] = frozenset()
        """Every device that a baseline or an event has spoken of."""

    @property
    def progress(self) -> float:
        """Share of the events that has been indexed, 0 to 1."""
        return self._rows / max(1, len(self._store.tables["alloc"]))

    def update(self, max_rows: int = 20_000) -> bool:
        """Index at most `max_rows` new events; return whether more wait."""
        table, baselines = self._store.tables["alloc"], self._store.records("baseline")
        budget = max_rows
        if len(table) - self._rows > RESERVE_ROWS:
            self.live.reserve(len(table) + len(baselines))
        while budget > 0:
            stop, record = len(table), None
            if self._baselines < len(baselines):
                record = baselines[self._baselines]
                stop = record.rows["alloc"]
            end = min(stop, self._rows + budget)
            budget -= end - self._rows
            self._append(end)
            if record is None or end < stop:
                break
            self._start(record)
            self._baselines += 1
        self.blocks.update(self._rows)
        return self._rows < len(table) or self._baselines < len(baselines)

    def _append(self, end: int) -> None:
        if end == self._rows:
            return
        new = {name: self._store.tables["alloc"][name][self._rows : end] for name in _INDEXED}
        rows = np.arange(self._rows, end, dtype=np.int64)
        self._rows = end
        self.devices |= set(np.unique(new["device"]).tolist())
        if self.device != ALL_DEVICES:
            mine = np.flatnonzero(new["device"] == self.device)
            new, rows = {name: values[mine] for name, values in new.items()}, rows[mine]
        if not len(rows):
            return
        self.live.append(new["t_ns"] - self._store.origin_ns, new["delta_bytes"], new["category"], rows)
        for device in np.unique(new["device"]).tolist():
            last = np.flatnonzero(new["device"] == device)[-1]
            self._recorder_total[device] = int(new["total_bytes"][last])

    @property
    def mismatch_bytes(self) -> int:
        """Our sum minus the recorder's own totals; 0, or there is a defect on one side."""
        return int(self.live.now_bytes.sum()) - sum(self._recorder_total.values())

    def _start(self, record: Record) -> None:
        sizes, category = record.columns["size_bytes"], record.columns["category"]
        device = record.columns["device"]
        self.devices |= set(np.unique(device).tolist())
        if self.device != ALL_DEVICES:
            mine = device == self.device
            sizes, category, device = sizes[mine], category[mine], device[mine]
        by_category = np.zeros(len(CATEGORIES), np.int64)
        np.add.at(by_category, np.minimum(category, UNKNOWN), sizes)
        self.live.start(record.clock_ns - self._store.origin_ns, by_category, record.rows["alloc"])
        found = np.unique(device).tolist()
        self._recorder_total = {number: int(sizes[device == number].sum()) for number in found}

    def known_until_ns(self) -> int:
        """Return the time up to which anything is known: the last event or step boundary."""
        ends = self._store.tables["step"]["t1_ns"]
        last_step = int(ends[-1]) - self._store.origin_ns if len(ends) else 0
        return max(self.span_ns()[1], last_step)

    def span_ns(self) -> tuple[int, int]:
        """Return the times of the first and the last point."""
        times = self.live.times_ns
        return (int(times[0]), int(times[-1])) if len(times) else (0, MIN_SPAN_NS)

    def window_ns(self, intent: MemoryIntent) -> tuple[int, int]:
        """Return the span that `intent` means, at least `MIN_SPAN_NS` long."""
        first, last = intent.window_ns or self._steps_window(intent)
        return first, max(last, first + MIN_SPAN_NS)

    def _steps_window(self, intent: MemoryIntent) -> tuple[int, int]:
        table = self._store.tables["step"]
        steps, origin = table["step"], self._store.origin_ns
        end = len(steps)
        if intent.end_step >= 0:
            end = int(np.searchsorted(steps, intent.end_step, side="right"))
        if intent.steps == 0 or end == 0:
            return self.span_ns()
        begin = max(0, end - intent.steps)
        return int(table["t0_ns"][begin]) - origin, int(table["t1_ns"][end - 1]) - origin

    def resolve(self, intent: MemoryIntent) -> MemorySnapshot:
        """Return what the window holds; its cost grows with `intent.columns`, not with events."""
        first, last = window = self.window_ns(intent)
        count = max(1, min(intent.columns, last - first))
        edges = first + np.arange(count + 1) * (last - first) // count
        columns = self.live.columns(edges, self.known_until_ns())
        high, low = columns.high_point, columns.low_point
        known = np.flatnonzero(high >= 0)
        starts = known[_run_starts(known, high[known], low[known])]
        stops = _run_stops(known, starts)
        shown = np.setdiff1d(np.arange(len(CATEGORIES)), list(intent.hidden))
        parts = self.live.category_bytes(high[starts])
        stack = np.zeros_like(parts)
        stack[:, shown] = parts[:, shown]
        total = self.live.total_bytes
        end_point = self.live.point_at(last)
        peak = int(starts[np.argmax(total[high[starts]])]) if len(starts) else -1
        peak_point = int(high[peak]) if peak >= 0 else -1
        rss_t, rss = self._rss(first, last)
        return MemorySnapshot(
            window_ns=window, t0_ns=edges[starts], t1_ns=edges[stops], category_bytes=stack,
            high_bytes=total[high[starts]], low_bytes=total[low[starts]],
            now_bytes=self.live.category_bytes(np.array([end_point]))[0],
            peak_t_ns=int(self.live.times_ns[peak_point]) if peak_point >= 0 else -1,
            peak_bytes=self.live.category_bytes(np.array([peak_point]))[0],
            phases=self._bands("phase", first, last, intent.end_step),
            steps=self._bands("step", first, last, intent.end_step), gaps=self._gaps(first, last),
            rss_t_ns=rss_t, rss_bytes=rss,
            events=end_point - self.live.point_at(first - 1),
        )  # fmt: skip

    def _bands(self, kind: str, first: int, last: int, current: int) -> Bands:
        table, origin = self._store.tables[kind], self._store.origin_ns
        begin = int(np.searchsorted(table["t1_ns"], first + origin, side="right"))
        end = int(np.searchsorted(table["t0_ns"], last + origin, side="left"))
        if end - begin > MAX_BANDS:
            begin, end = self._only(kind, current, begin, end)
        span = slice(begin, max(begin, end))
        t0, t1 = table["t0_ns"][span] - origin, table["t1_ns"][span] - origin
        return Bands(t0, t1, table[kind][span].astype(np.int64))

    def _only(self, kind: str, step: int, begin: int, end: int) -> tuple[int, int]:
        """Return the rows of `step` alone, when there are too many to tell apart."""
        low, high = (int(np.searchsorted(self._store.tables[kind]["step"], step, side)) for side in _SIDES)
        return (low, high) if kind == "step" and begin <= low < high <= end else (begin, begin)

    def _gaps(self, first: int, last: int) -> Bands:
        gaps = np.array(self.live.gaps_ns, np.int64).reshape(-1, 2)
        gaps = gaps[(gaps[:, 1] > first) & (gaps[:, 0] < last)]
        return Bands(gaps[:, 0], gaps[:, 1], np.zeros(len(gaps), np.int64))

    def _rss(self, first: int, last: int) -> tuple[Longs, Longs]:
        """Return process bytes at the step ends of the window, thinned to at most `MAX_BANDS`."""
        table, origin = self._store.tables["step"], self._store.origin_ns
        begin, end = np.searchsorted(table["t1_ns"], [first + origin, last + origin])
        begin, end = max(0, int(begin) - 1), min(len(table), int(end) + 1)
        rows = np.arange(begin, end, max(1, (end - begin) // MAX_BANDS))
        return table["t1_ns"][rows] - origin, table["rss_bytes"][rows]

    def moment(self, t_ns: int) -> Moment | None:
        """Return what was alive at `t_ns`; None where nothing is known."""
        point = self.live.point_at(t_ns)
        in_a_gap = any(start < t_ns < stop for start, stop in self.live.gaps_ns)
        if point < 0 or in_a_gap or t_ns > self.known_until_ns():
            return None
        parts = self.live.category_bytes(np.array([point]))[0]
        step, phase = self._kind_at("step", t_ns), self._kind_at("phase", t_ns)
        return Moment(
            t_ns, step, phase, int(parts.sum()), tuple(parts.tolist()),
            int(self.live.rows[point]), int(self.live.times_ns[point]),
        )  # fmt: skip

    def largest_blocks(self, t_ns: int) -> tuple[list[AliveBlock], int]:
        """Return the largest blocks alive at `t_ns`, and how many are alive in all."""
        point = self.live.point_at(t_ns)
        if point < 0:
            return [], 0
        device = None if self.device == ALL_DEVICES else self.device
        blocks, count = self.blocks.largest(self.live.rows_until(point), device)
        names = lasting_names(self._store)
        return [replace(b, label=names.get((b.address, b.category), b.label)) for b in blocks], count

    def _kind_at(self, kind: str, t_ns: int) -> int:
        """Return the step or phase that runs at `t_ns`, -1 if none is known."""
        table, at = self._store.tables[kind], t_ns + self._store.origin_ns
        row = int(np.searchsorted(table["t0_ns"], at, side="right")) - 1
        return int(table[kind][row]) if row >= 0 and at <= table["t1_ns"][row] else -1

    def event_near(self, t_ns: int, reach_ns: int, category: int = -1) -> int:
        """Return the row of the largest event within `reach_ns`, else of the nearest; -1 if none.

        `category` restricts the search to one category.
        """
        points = self.live.category_points(category) if category >= 0 else np.arange(0)
        times, table = self.live.times_ns, self._store.tables["alloc"]
        if category < 0:
            begin, end = np.searchsorted(times, [t_ns - reach_ns, t_ns + reach_ns + 1])
            points = np.arange(max(0, begin - 1), min(len(times), end + 1))
        else:
            begin, end = np.searchsorted(times, [t_ns - reach_ns, t_ns + reach_ns + 1])
            low, high = np.searchsorted(points, [begin, end])
            points = points[max(0, low - 1) : high + 1]
        rows = self.live.rows[points]
        points, rows = points[rows >= 0], rows[rows >= 0]
        if not len(rows):
            return -1
        away = np.abs(times[points] - t_ns)
        near = away <= reach_ns
        if near.any():
            inside = rows[near]
            return int(inside[np.argmax(np.abs(table["delta_bytes"][inside]))])
        return int(rows[np.argmin(away)])

    def next_peak(self, t_ns: int, direction: int) -> int:
        """Return the time of the highest total within the next (+1) or previous (-1) step."""
        table, origin = self._store.tables["step"], self._store.origin_ns
        row = int(np.searchsorted(table["t1_ns"], t_ns + origin, side="left")) + direction
        if not 0 <= row < len(table):
            return t_ns
        edges = np.array([table["t0_ns"][row], table["t1_ns"][row]]) - origin
        point = int(self.live.columns(edges, self.known_until_ns()).high_point[0])
        return max(int(self.live.times_ns[point]), int(edges[0])) if point >= 0 else t_ns


_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_INDEXED = ("t_ns", "delta_bytes", "total_bytes", "category", "device")


def _run_starts(columns: Longs, high: Longs, low: Longs) -> Longs:
    """Return where a run of neighbouring columns with the same points begins."""
    if not len(columns):
        return columns
    changed = (np.diff(high) != 0) | (np.diff(low) != 0) | (np.diff(columns) != 1)
    return np.concatenate([[0], 1 + np.flatnonzero(changed)])


def _run_stops(columns: Longs, starts: Longs) -> Longs:
    """Return the edge after the last column of each run."""
    if not len(columns):
        return starts
    last = np.searchsorted(columns, starts[1:]) - 1
    return np.concatenate([columns[last], columns[-1:]]) + 1
