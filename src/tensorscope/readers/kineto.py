"""Memory events of the profiler's Chrome traces (Kineto), of the schemas of 2021 and since 2022.

``[memory]`` instants come from ``libkineto/src/output_json.cpp``; times are microseconds after
``baseTimeNanoseconds`` where the file has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.lifetimes import ALLOCATED, FREED
from tensorscope.core.errors import ReaderError
from tensorscope.core.schema import CATEGORIES, PHASES
from tensorscope.readers.alloc_rows import AllocRows, alloc_rows
from tensorscope.readers.allocator_file import AllocatorFile, Columns
from tensorscope.readers.annotated_steps import Spans, find_steps, phase_columns, step_columns
from tensorscope.readers.block_matching import matched_addresses
from tensorscope.readers.enclosing_calls import calls_at, stack_of
from tensorscope.readers.numbers import integers, unsigned
from tensorscope.readers.step_bytes import step_bytes

_CALLS = frozenset({"cpu_op", "user_annotation", "python_function", "Operator"})
_CPU = 0
"""Device type of the CPU in ``Device Type``."""
_BACKWARD, _OPTIMIZER = PHASES.index("backward"), PHASES.index("optimizer")


def read_kineto(document: Mapping[str, Any], told: Callable[[str], None] = lambda _: None) -> AllocatorFile:
    """Return the memory events of a loaded trace, each in the operators that it happened in.

    Raises
    ------
    ReaderError
        If it is no trace, or its memory events cannot be understood.
    """
    events = document.get("traceEvents")
    if not isinstance(events, list) or not all(isinstance(event, Mapping) for event in events):
        raise ReaderError("it is not a trace: its 'traceEvents' are not a list of events.")
    try:
        return _Trace(document, events, told).read()
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ReaderError(f"its trace is damaged ({type(error).__name__}: {error}).") from None


class _Trace:
    def __init__(
        self, document: Mapping[str, Any], events: Sequence[Mapping[str, Any]], told: Callable[[str], None]
    ) -> None:
        self.document, self.told = document, told
        self.file = AllocatorFile("kineto")
        base = document.get("baseTimeNanoseconds", 0)
        self.base_ns = base if isinstance(base, int) and abs(base) < 2**62 else 0
        self.memory = [event for event in events if event.get("name") == "[memory]"]
        self.memory.sort(key=lambda event: float(event["ts"]))
        self.calls = [e for e in events if e.get("ph") == "X" and e.get("cat") in _CALLS and "ts" in e]

    def read(self) -> AllocatorFile:
        file = self.file
        spans = self._spans()
        if not self.memory:
            file.notes.append(
                "The trace holds no memory events: profile with profile_memory=True to have them."
            )
        self.told("operators")
        moments = [(event.get("tid"), float(event["ts"])) for event in self.memory]
        found = calls_at(self.calls, moments)
        self.told("events")
        columns = self._events(found)
        kind = np.where(columns["delta"] >= 0, ALLOCATED, FREED).astype(np.int8)
        self.told("lifetimes")
        self._fill(columns, _phases(found), alloc_rows(columns, kind, None), spans)
        return file

    def _ns(self, microseconds: float) -> int:
        return self.base_ns + round(microseconds * 1000)

    def _spans(self) -> Spans:
        named = [
            e for e in self.calls if str(e.get("name", "")).startswith(("ProfilerStep", "Optimizer.step"))
        ]
        named.sort(key=lambda event: float(event["ts"]))
        begins = [self._ns(float(event["ts"])) for event in named]
        ends = [self._ns(float(e["ts"]) + float(e.get("dur", 0))) for e in named]
        return Spans([str(event["name"]) for event in named], integers(begins), integers(ends))

    def _events(self, calls: Sequence[tuple[Mapping[str, Any], ...]]) -> Columns:
        args = [event["args"] for event in self.memory]
        delta = integers([one["Bytes"] for one in args])
        types = integers([one.get("Device Type", _CPU) for one in args])
        device = np.where(types == _CPU, -1, integers([one.get("Device Id", -1) for one in args]))
        if args and all("Addr" in one for one in args):
            address = unsigned([one["Addr"] for one in args])
        else:
            address = matched_addresses(delta.tolist(), device.tolist())
            if args:
                self.file.notes.append(
                    "Addresses were not recorded: frees are matched with the youngest block of their size. "
                    "Totals are exact, which of several equal blocks went is not."
                )
        count = len(args)
        stacks = {id(c): stack_of(c) for c in calls}
        return {
            "delta": delta, "address": address, "size_bytes": np.abs(delta), "device": device,
            "stream": np.zeros(count, np.int64), "pool": np.zeros(count, np.int64),
            "stack": self.file.stacks.ids_of([stacks[id(c)] for c in calls]),
            "category": np.full(count, CATEGORIES.index("unknown"), np.int64),
            "t_ns": integers([self._ns(float(event["ts"])) for event in self.memory]),
        }  # fmt: skip

    def _fill(self, events: Columns, phase: NDArray[np.uint8], found: AllocRows, spans: Spans) -> None:
        file, rows = self.file, found.rows
        times = [int(column[0]) for column in (events["t_ns"], spans.t0_ns) if len(column)]
        first = file.origin_ns = min(times, default=0)
        steps = find_steps(spans, first)
        t_ns = np.append(events["t_ns"], first)[rows["event"]]
        file.alloc = {
            "t_ns": t_ns, "step": steps.step_of(t_ns), "phase": np.append(phase, 0)[rows["event"]],
            "module": np.where(rows["inferred"], file.strings.id_of("(inferred)"), 0),
            **{name: rows[name] for name in ("address", "delta_bytes", "total_bytes", "category", "device",
                                             "stack", "stream", "pool")},
        }  # fmt: skip
        file.baseline = {**found.baseline, "name": np.zeros(len(found.baseline["address"]), "u4")}
        start = int(found.baseline["size_bytes"].sum())
        file.step = step_columns(steps, *step_bytes(steps.t1_ns, t_ns, rows["delta_bytes"], start))
        file.phase = phase_columns(steps)
        known = np.unique(events["device"])
        file.devices = [{"index": int(device), "total_bytes": -1} for device in known if device >= 0]
        if found.unseen:
            file.notes.append(
                f"{found.unseen:,} blocks were there before the profiler began and are known by their free "
                "alone; those that were not freed meanwhile are not in the file."
            )
        if (known < 0).any():
            file.notes.append("On the CPU the profiler counts only what was allocated while it ran.")


def _phases(calls: Sequence[tuple[Mapping[str, Any], ...]]) -> NDArray[np.uint8]:
    """Return the phase of each event, from the names of what it happened in."""
    known: dict[int, int] = {}
    for one in calls:
        if id(one) not in known:
            names = [str(call.get("name", "")) for call in one]
            backward = any(name.startswith("autograd::engine") or "Backward" in name for name in names)
            optimizer = any(name.startswith("Optimizer.step") for name in names)
            known[id(one)] = _OPTIMIZER if optimizer else _BACKWARD if backward else 0
    return np.array([known[id(one)] for one in calls], np.uint8)
