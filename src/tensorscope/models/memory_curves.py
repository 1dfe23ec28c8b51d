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

    def known(self, device: int) -> tuple[str, ...]:
        """Return the curves that this session has anything of."""
        step, memory = self._store.tables["step"], self._store.tables["device_memory"]
        found = [PROCESS] if (step["rss_bytes"] >= 0).any() else []
        if len(self._reserved_points(device)[0]) or len(memory):
            found.append(RESERVED)
        found += [DRIVER_USED] if (memory["used_bytes"] >= 0).any() else []
        found += [DRIVER_PROCESS] if (memory["process_bytes"] >= 0).any() else []
        return tuple(found)

    def in_window(
        self, name: str, axis: MemoryAxis, window: tuple[int, int], columns: int, device: int
    ) -> Curve:
        """Return a curve within a window, thinned to its highest points where there are too many."""
        t_ns, size = self._points(name, device)
        x = axis.of_times(t_ns)
        begin = max(0, int(np.searchsorted(x, window[0], side="right")) - 1)
        end = int(np.searchsorted(x, window[1], side="right"))
        x, size = x[begin:end], size[begin:end]
        if len(x) > 2 * columns:
            edges = np.linspace(0, len(x), columns + 1).astype(int)[:-1]
            x, size = x[edges], np.maximum.reduceat(size, edges)
        return Curve(name, x, size)

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


def _summed(t_ns: Longs, device: NDArray[np.integer], size: Longs) -> tuple[Longs, Longs]:
    """Return the sum over the devices, each at its newest value."""
    now, total = dict[int, int](), np.empty(len(t_ns), np.int64)
    for row, (one, value) in enumerate(zip(device.tolist(), size.tolist(), strict=True)):
        now[one] = value
        total[row] = sum(now.values())
    return t_ns, total
