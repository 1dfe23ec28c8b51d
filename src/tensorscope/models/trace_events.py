"""A session as Chrome trace events, which Perfetto opens: counters, steps, phases, modules and marks.

The format is that of the "Trace Event Format" document: ``ts`` and ``dur`` are microseconds, here since the
session's origin; X is a span, C a counter, i an instant, M names a process or thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorscope.core.schema import CATEGORIES, PHASES
from tensorscope.models.frozen_store import StoreLike
from tensorscope.models.memory_axis import TIME
from tensorscope.models.memory_curves import CURVES, MemoryCurves
from tensorscope.models.memory_marks import MARK_ACTIONS
from tensorscope.models.memory_model import MemoryModel
from tensorscope.models.memory_snapshot import ALL_DEVICES
from tensorscope.models.session_store import SessionStore

Event = dict[str, Any]

PID = 1
_STEPS, _PHASES, _MODULES, _NOTES = 1, 2, 3, 4
MODULE_THREAD = 100
"""Threads of modules by depth lie from here on: spans of one thread must nest."""


def trace_events(store: SessionStore) -> Iterator[Event]:
    """Yield the events; nothing is thinned out."""
    yield {
        "ph": "M",
        "pid": PID,
        "name": "process_name",
        "args": {"name": str(store.hello.get("script") or "program")},
    }
    for thread, name in ((_STEPS, "steps"), (_PHASES, "phases"), (_NOTES, "annotations and marks")):
        yield {"ph": "M", "pid": PID, "tid": thread, "name": "thread_name", "args": {"name": name}}
    yield from _spans(store)
    yield from _modules(store)
    yield from _notes(store)
    yield from _live(store)
    yield from _curves(store)


def _us(t_ns: int) -> float:
    return round(t_ns / 1000, 3)


def _span(thread: int, name: str, begin_ns: int, end_ns: int, args: Event | None = None) -> Event:
    return {"ph": "X", "pid": PID, "tid": thread, "name": name, "ts": _us(begin_ns),
            "dur": _us(max(0, end_ns - begin_ns)), "args": args or {}}  # fmt: skip


def _spans(store: StoreLike) -> Iterator[Event]:
    table, origin = store.tables["step"], store.origin_ns
    for row in range(len(table)):
        begin, end = int(table["t0_ns"][row]) - origin, int(table["t1_ns"][row]) - origin
        number, loss = int(table["step"][row]), float(table["loss"][row])
        variant = store.string(int(table["variant"][row]))
        args = {"step": number, "variant": variant, "loss": loss if np.isfinite(loss) else None}
        yield _span(_STEPS, f"step {number}", begin, end, args)
    phases = store.tables["phase"]
    for row in range(len(phases)):
        begin, end = int(phases["t0_ns"][row]) - origin, int(phases["t1_ns"][row]) - origin
        yield _span(_PHASES, PHASES[int(phases["phase"][row])], begin, end)


def _modules(store: StoreLike) -> Iterator[Event]:
    table, origin = store.tables["module"], store.origin_ns
    named = set[int]()
    for row in range(len(table)):
        depth = int(table["depth"][row])
        if depth not in named:
            named.add(depth)
            name = {"name": f"modules, depth {depth}"}
            yield {"ph": "M", "pid": PID, "tid": MODULE_THREAD + depth, "name": "thread_name", "args": name}
        begin, end = int(table["t0_ns"][row]) - origin, int(table["t1_ns"][row]) - origin
        module = store.string(int(table["module"][row])) or "(root)"
        yield _span(MODULE_THREAD + depth, module, begin, end, {"call": int(table["call"][row])})


def _notes(store: StoreLike) -> Iterator[Event]:
    origin, notes, trace = store.origin_ns, store.tables["annotation"], store.tables["trace"]
    for row in range(len(notes)):
        stage = "E" if int(notes["stage"][row]) else "B"
        yield {"ph": stage, "pid": PID, "tid": _NOTES, "name": store.string(int(notes["name"][row])),
               "ts": _us(int(notes["t_ns"][row]) - origin)}  # fmt: skip
    for row in range(len(trace)):
        action = store.string(int(trace["action"][row]))
        if action in MARK_ACTIONS:
            args = {"size_bytes": int(trace["size_bytes"][row]), "device": int(trace["device"][row])}
            yield {"ph": "i", "s": "p", "pid": PID, "tid": _NOTES, "name": action,
                   "ts": _us(int(trace["t_ns"][row]) - origin), "args": args}  # fmt: skip


def _live(store: SessionStore) -> Iterator[Event]:
    model = MemoryModel(store)
    while model.update(1 << 20):
        pass
    live = model.live
    for first in range(0, len(live), 1 << 16):
        points = np.arange(first, min(len(live), first + (1 << 16)))
        times, held = live.times_ns[points].tolist(), live.series_bytes(points).tolist()
        for t, sizes in zip(times, held, strict=True):
            yield {"ph": "C", "pid": PID, "name": "live bytes", "ts": _us(t),
                   "args": dict(zip(CATEGORIES, sizes, strict=True))}  # fmt: skip


def _curves(store: SessionStore) -> Iterator[Event]:
    curves, model = MemoryCurves(store), MemoryModel(store)
    axis = model.axis(TIME)
    known = curves.known(ALL_DEVICES)
    for name in CURVES:
        if name not in known:
            continue
        points = (
            len(store.tables["trace"]) + len(store.tables["step"]) + len(store.tables["device_memory"]) + 1
        )
        curve = curves.in_window(name, axis, (-(2**62), 2**62), points, ALL_DEVICES)
        for x, size in zip(curve.x.tolist(), curve.bytes.tolist(), strict=True):
            yield {"ph": "C", "pid": PID, "name": f"{name} bytes", "ts": _us(x), "args": {"bytes": size}}
