"""Curves beside the allocator's live bytes: what is reserved, what the process and the device hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorscope.models.memory_axis import MemoryAxis
from tensorscope.models.memory_snapshot import ALL_DEVICES
from tensorscope.models.session_store import SessionStore

Longs = NDArray[np.int64]

RESERVED, PROCESS, DRIVER_USED, DRIVER_PROCESS = "reserved", "rss", "driver_used", "driver_process"
CURVES = (PROCESS, RESERVED, DRIVER_USED, DRIVER_PROCESS)
"""``rss``: process bytes in main memory; ``reserved``: what the caching allocator took from CUDA;
``driver_used``: the device's memory in use by everybody; ``driver_process``: by this process (NVML)."""
_SOURCES = ("step", "trace", "device_memory")
_TAKES, _GIVES = ("segment_alloc", "segment_map"), ("segment_free", "segment_unmap")


@dataclass(frozen=True, eq=False)
class Curve:
    """A level that lasts from each x to the next, in axis units and bytes."""

    name: str
    x: Longs
    bytes: Longs


class MemoryCurves:
    """Finds the curves of one session; the reserved one is worked out once a trace. GUI thread."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._reserved: dict[int, tuple[Longs, Longs]] = {}
        self._rows = -1
        self._key: tuple[int, ...] = ()
        self._kept: dict[tuple[str, int], tuple[Longs, Longs]] = {}

    def known(self, device: int) -> tuple[str, ...]:
        """Return the curves that this session has anything of."""
        step, memory = self._store.tables["step"], self._store.tables["device_memory"]
        found = [PROCESS] if (step["rss_bytes"] >= 0).any() else []
        if len(self._reserved_points(device)[0]) or (memory["reserved_bytes"] >= 0).any():
            found.append(RESERVED)
        found += [DRIVER_USED] if (memory["used_bytes"] >= 0).any() else []
        found += [DRIVER_PROCESS] if (memory["process_bytes"] >= 0).any() else []
        return tuple(found)

    def in_window(
        self, name: str, axis: MemoryAxis, window: tuple[int, int], columns: int, device: int
    ) -> Curve:
        """Return a curve within a window; where points are too many, the extremes of every few of them."""
        t_ns, size = self._points_kept(name, device)
        span = axis.within(t_ns, window)
        rows = np.arange(max(0, span.start - 1), span.stop)
        if len(rows) > 2 * columns:
            rows = rows[_extremes(size[rows], columns)]
        return Curve(name, axis.of_times(t_ns[rows]), size[rows])

    def _points_kept(self, name: str, device: int) -> tuple[Longs, Longs]:
        """Return the points of a curve, worked out once for what the session has now."""
        tables = self._store.tables
        key = *(len(tables[kind]) for kind in _SOURCES), len(self._store.records("segments"))
        if key != self._key:
            self._key, self._kept = key, {}
        if (name, device) not in self._kept:
            t_ns, size = self._points(name, device)
            self._kept[name, device] = np.maximum.accumulate(t_ns), size  # clocks of threads differ a little
        return self._kept[name, device]

    def _points(self, name: str, device: int) -> tuple[Longs, Longs]:
        origin = self._store.origin_ns
        if name == PROCESS:
            table = self._store.tables["step"]
            rows = np.flatnonzero(table["rss_bytes"] >= 0)
            return table["t1_ns"][rows] - origin, table["rss_bytes"][rows]
        if name == RESERVED and len(points := self._reserved_points(device)[0]):
            return points, self._reserved_points(device)[1]
        table = self._store.tables["device_memory"]
        column = {RESERVED: "reserved_bytes", DRIVER_USED: "used_bytes", DRIVER_PROCESS: "process_bytes"}[
            name
        ]
        rows = np.flatnonzero(table[column] >= 0)
        if device == ALL_DEVICES:
            return _summed(table["t_ns"][rows] - origin, table["device"][rows], table[column][rows])
        rows = rows[table["device"][rows] == device]
        return table["t_ns"][rows] - origin, table[column][rows]

    def _reserved_points(self, device: int) -> tuple[Longs, Longs]:
        """Return where the reserved bytes change: the end is known, the trace leads back to the start."""
        trace, records = self._store.tables["trace"], self._store.records("segments")
        if self._rows != len(trace) + len(records):
            self._rows, self._reserved = len(trace) + len(records), {}
        if device not in self._reserved:
            self._reserved[device] = self._replayed(device)
        return self._reserved[device]

    def _replayed(self, device: int) -> tuple[Longs, Longs]:
        trace, records = self._store.tables["trace"], self._store.records("segments")
        if not records:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        last = records[-1].columns
        mine = np.ones(len(last["segment_bytes"]), bool)
        chosen = np.ones(len(trace), bool)
        if device != ALL_DEVICES:
            mine, chosen = last["segment_device"] == device, trace["device"] == device
        sign = np.zeros(len(trace), np.int64)
        for names, value in ((_TAKES, 1), (_GIVES, -1)):
            ids = [index for index, text in enumerate(self._store.strings) if text in names]
            sign[np.isin(trace["action"], ids)] = value
        rows = np.flatnonzero(chosen & (sign != 0))
        delta = sign[rows] * trace["size_bytes"][rows]
        start = int(last["segment_bytes"][mine].sum()) - int(delta.sum())
        first = trace["t_ns"][:1] if len(trace) else np.array([self._store.origin_ns])
        t_ns = np.concatenate([first, trace["t_ns"][rows]]) - self._store.origin_ns
        return t_ns, start + np.concatenate([[0], np.cumsum(delta)])


def _extremes(size: Longs, parts: int) -> Longs:
    """Return where the largest and the smallest of each of about so many equal parts are, and the last."""
    length = -(-len(size) // parts)
    padded = np.append(size, np.full(-len(size) % length, size[-1])).reshape(-1, length)
    begins = np.arange(len(padded)) * length
    found = [begins + padded.argmax(axis=1), begins + padded.argmin(axis=1), [len(size) - 1]]
    return np.unique(np.minimum(np.concatenate(found), len(size) - 1))


def _summed(t_ns: Longs, device: NDArray[np.integer], size: Longs) -> tuple[Longs, Longs]:
    """Return the sum over the devices, each at its newest value."""
    order = np.argsort(device, kind="stable")
    change = np.diff(size[order], prepend=0)
    begins = np.flatnonzero(np.diff(device[order], prepend=-(1 << 15)))
    change[begins] = size[order][begins]
    by_time = np.empty(len(size), np.int64)
    by_time[order] = change
    return t_ns, np.cumsum(by_time)
