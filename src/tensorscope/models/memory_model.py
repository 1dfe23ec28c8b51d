"""What the memory view shows: allocator bytes in series over time, exact at any zoom."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.live_bytes import LiveBytes
from tensorscope.core.schema import CATEGORIES
from tensorscope.models.block_names import lasting_names
from tensorscope.models.grouping import Grouped
from tensorscope.models.live_blocks import AliveBlock, LiveBlocks
from tensorscope.models.memory_axis import TIME, MemoryAxis
from tensorscope.models.memory_snapshot import ALL_DEVICES, Bands, MemoryIntent, MemorySnapshot, Moment
from tensorscope.models.session_store import Record, SessionStore

Longs = NDArray[np.int64]

STACK_ORDER = (0, 2, 3, 1, 4, 5, 6, 7)
"""Categories from the bottom of the stack to its top: what stays for the whole run lies lowest."""
MIN_SPAN = 1_000
"""Least width of a window, in axis units: a microsecond, or one event."""
RESERVE_ROWS = 500_000
"""With more events than this waiting, room for them is made at once."""
MAX_BANDS = 400
"""Bands narrower than a few pixels tell nothing: with more than this in the window, none is drawn."""


class MemoryModel:
    """Indexes the ``alloc`` table and the baselines as they arrive, and resolves windows of them."""

    def __init__(self, store: SessionStore, device: int = ALL_DEVICES) -> None:
        self._store = store
        self.device = device
        self.live = LiveBytes(len(CATEGORIES))
        self.grouped: Grouped | None = None
        """Series that are shown instead of the categories."""
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
        waiting = self._rows < len(table) or self._baselines < len(baselines)
        return self._continue_groups(max_rows) or waiting

    def _continue_groups(self, max_rows: int) -> bool:
        """Take at most `max_rows` of the new events into the grouping; return whether more wait."""
        if self.grouped is None or self.grouped.tail.stopped:
            return False
        tail = self.grouped.tail
        tail.extend(self._store, min(self._rows, tail.rows + max_rows))
        return tail.rows < self._rows and not tail.stopped

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
        np.add.at(by_category, np.minimum(category, len(CATEGORIES) - 1), sizes)
        self.live.start(record.clock_ns - self._store.origin_ns, by_category, record.rows["alloc"])
        found = np.unique(device).tolist()
        self._recorder_total = {number: int(sizes[device == number].sum()) for number in found}

    @property
    def has_categories(self) -> bool:
        """Whether any block is of another category than the last, unknown."""
        changed = (len(self.live.series_points(series)) for series in range(self.live.series - 1))
        return bool(self.live.now_bytes[:-1].any()) or any(count > self._baselines for count in changed)

    @property
    def shown(self) -> LiveBytes:
        """The live bytes in the series that are shown."""
        return self.grouped.live if self.grouped is not None else self.live

    @property
    def order(self) -> tuple[int, ...]:
        """The series that are shown, from the bottom of the stack to its top."""
        return tuple(range(self.shown.series)) if self.grouped is not None else STACK_ORDER

    def axis(self, kind: str) -> MemoryAxis:
        """Return the axis of what is shown."""
        return MemoryAxis(kind, self.shown, self.known_until_ns())

    def known_until_ns(self) -> int:
        """Return the time up to which anything is known: the last event or step boundary."""
        if self.grouped is not None and self.grouped.rows < self._rows:  # the new ones are to come
            return max(0, *map(int, self.grouped.live.times_ns[-1:]), 0)
        tables, origin = self._store.tables, self._store.origin_ns
        ends = [tables[kind][name][-1:] for kind, name in (("step", "t1_ns"), ("trace", "t_ns"))]
        lasts = [int(end[0]) - origin for end in ends if len(end)]
        return max(0, *lasts, *map(int, self.shown.times_ns[-1:]), 0)

    def window(self, intent: MemoryIntent) -> tuple[int, int]:
        """Return the span that `intent` means, in axis units, at least `MIN_SPAN` long."""
        first, last = intent.window or self._steps_window(intent)
        return first, max(last, first + MIN_SPAN)

    def _steps_window(self, intent: MemoryIntent) -> tuple[int, int]:
        table = self._store.tables["step"]
        steps, origin, axis = table["step"], self._store.origin_ns, self.axis(intent.axis)
        end = len(steps)
        if intent.end_step >= 0:
            end = int(np.searchsorted(steps, intent.end_step, side="right"))
        if intent.steps == 0 or end == 0:
            return axis.span()
        begin = max(0, end - intent.steps)
        bounds = axis.of_times(np.array([table["t0_ns"][begin], table["t1_ns"][end - 1]]) - origin)
        return int(bounds[0]), int(bounds[1])

    def resolve(self, intent: MemoryIntent) -> MemorySnapshot:
        """Return what the window holds; its cost grows with `intent.columns`, not with events."""
        live, axis = self.shown, self.axis(intent.axis)
        first, last = window = self.window(intent)
        count = max(1, min(intent.columns, last - first))
        edges = first + np.arange(count + 1) * (last - first) // count
        columns = axis.columns(edges)
        high, low = columns.high_point, columns.low_point
        known = np.flatnonzero(high >= 0)
        starts = known[_run_starts(known, high[known], low[known])]
        stops = _run_stops(known, starts)
        shown = np.setdiff1d(np.arange(live.series), list(intent.hidden))
        end_point = axis.point_at(last)
        found = live.series_bytes(np.append(high[starts], end_point))
        parts, now_bytes = found[:-1], found[-1]
        stack = np.zeros_like(parts)
        stack[:, shown] = parts[:, shown]
        total = live.total_bytes
        peak = int(np.argmax(total[high[starts]])) if len(starts) else -1
        peak_point = int(high[starts[peak]]) if peak >= 0 else -1
        return MemorySnapshot(
            axis=intent.axis, units=axis.units_per_label, window=window, x0=edges[starts], x1=edges[stops],
            series_bytes=stack, high_bytes=total[high[starts]], low_bytes=total[low[starts]],
            now_bytes=now_bytes, peak_x=axis.of_point(peak_point) if peak_point >= 0 else -1,
            peak_t_ns=int(live.times_ns[peak_point]) if peak_point >= 0 else -1,
            peak_bytes=parts[peak] if peak >= 0 else np.zeros(live.series, np.int64), order=self.order,
            phases=self._bands("phase", first, last, intent.end_step, axis),
            steps=self._bands("step", first, last, intent.end_step, axis),
            gaps=self._gaps(first, last, axis),
            events=end_point - axis.point_at(first - 1),
        )  # fmt: skip

    def _bands(self, kind: str, first: int, last: int, current: int, axis: MemoryAxis) -> Bands:
        table, origin = self._store.tables[kind], self._store.origin_ns
        from_ns, to_ns = axis.to_ns(first), axis.to_ns(last)
        begin = int(np.searchsorted(table["t1_ns"], from_ns + origin, side="right"))
        end = int(np.searchsorted(table["t0_ns"], to_ns + origin, side="left"))
        if end - begin > MAX_BANDS:
            begin, end = self._only(kind, current, begin, end)
        span = slice(begin, max(begin, end))
        x0, x1 = (axis.of_times(table[name][span] - origin) for name in ("t0_ns", "t1_ns"))
        return Bands(x0, x1, table[kind][span].astype(np.int64))

    def _only(self, kind: str, step: int, begin: int, end: int) -> tuple[int, int]:
        """Return the rows of `step` alone, when there are too many to tell apart."""
        low, high = (int(np.searchsorted(self._store.tables[kind]["step"], step, side)) for side in _SIDES)
        return (low, high) if kind == "step" and begin <= low < high <= end else (begin, begin)

    def _gaps(self, first: int, last: int, axis: MemoryAxis) -> Bands:
        gaps = np.array(self.shown.gaps_ns, np.int64).reshape(-1, 2)
        x0, x1 = axis.of_times(gaps[:, 0]), axis.of_times(gaps[:, 1])
        seen = (x1 > first) & (x0 < last) & (axis.kind == TIME)  # no event is missing between two events
        return Bands(x0[seen], x1[seen], np.zeros(int(seen.sum()), np.int64))

    def moment(self, t_ns: int, point: int | None = None) -> Moment | None:
        """Return what was alive at `t_ns` (after event `point`, if given); None where nothing is known."""
        live = self.shown
        point = live.point_at(t_ns) if point is None else point
        in_a_gap = any(start < t_ns < stop for start, stop in live.gaps_ns)
        if not 0 <= point < len(live) or in_a_gap or t_ns > self.known_until_ns():
            return None
        parts = live.series_bytes(np.array([point]))[0]
        step, phase = self._kind_at("step", t_ns), self._kind_at("phase", t_ns)
        return Moment(
            t_ns, step, phase, int(parts.sum()), tuple(parts.tolist()),
            int(live.rows[point]), int(live.times_ns[point]),
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

    def event_near(self, x: int, reach: int, series: int = -1, axis: str = TIME) -> int:
        """Return the row of the largest event within `reach` axis units, else of the nearest; -1 if none.

        `series` restricts the search to one series.
        """
        live, scale, table = self.shown, self.axis(axis), self._store.tables["alloc"]
        begin, end = scale.point_at(x - reach - 1) + 1, scale.point_at(x + reach) + 1
        if series < 0:
            points = np.arange(max(0, begin - 1), min(len(live), end + 1))
        else:
            points = live.series_points(series)
            low, high = np.searchsorted(points, [begin, end])
            points = points[max(0, low - 1) : high + 1]
        rows = live.rows[points]
        points, rows = points[rows >= 0], rows[rows >= 0]
        if not len(rows):
            return -1
        away = np.abs(scale.of_points(points) - x)
        near = away <= reach
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
        point = int(self.shown.columns(edges, self.known_until_ns()).high_point[0])
        return max(int(self.shown.times_ns[point]), int(edges[0])) if point >= 0 else t_ns


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
