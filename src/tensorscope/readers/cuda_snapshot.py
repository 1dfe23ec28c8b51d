"""CUDA memory snapshots of every layout since 2023, as `torch.cuda.memory._snapshot` gives them.

The schema is that of ``torch/csrc/cuda/memory_snapshot.cpp``; what it does not have is kept and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.lifetimes import ALLOCATED, FREED, NONE
from tensorscope.core.errors import ReaderError
from tensorscope.core.schema import CATEGORIES
from tensorscope.readers.alloc_rows import AllocRows, alloc_rows
from tensorscope.readers.allocator_file import UNTIMED_NS, AllocatorFile, Columns
from tensorscope.readers.annotated_steps import find_steps, paired_spans, phase_columns, step_columns
from tensorscope.readers.cuda_segments import CudaSegments
from tensorscope.readers.numbers import integers, unsigned
from tensorscope.readers.step_bytes import step_bytes

ACTIONS = frozenset({
    "alloc", "free", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map",
    "segment_unmap", "snapshot", "oom", "annotate", "user_defined", "workspace_snapshot",
})  # fmt: skip
_TOP_KEYS = frozenset({
    "segments", "device_traces", "external_annotations", "allocator_settings", "categories",
})  # fmt: skip
_EVENT_KEYS = frozenset({
    "action", "addr", "size", "stream", "time_us", "frames", "compile_context", "user_metadata", "pool_id",
    "device_free", "category", "forward_frames",
})  # fmt: skip
_CATEGORY_NAMES = {
    **{name: index for index, name in enumerate(CATEGORIES)},
    "autograd_detail": CATEGORIES.index("temporary"),
}
_UNKNOWN = CATEGORIES.index("unknown")


def read_cuda_snapshot(document: Any, told: Callable[[str], None] = lambda _: None) -> AllocatorFile:
    """Return what `document` (a loaded pickle or JSON) says.

    Parameters
    ----------
    told
        Called with the name of each stage, for progress.

    Raises
    ------
    ReaderError
        If it is no snapshot, or holds values that cannot be.
    """
    if isinstance(document, (list, tuple)):
        document = {"segments": document, "device_traces": []}
    if not isinstance(document, Mapping) or "segments" not in document:
        raise ReaderError("it is not a memory snapshot: it has no 'segments'.")
    try:
        return _Snapshot(document, told).read()
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, IndexError) as error:
        raise ReaderError(f"its memory snapshot is damaged ({type(error).__name__}: {error}).") from None


class _Snapshot:
    def __init__(self, document: Mapping[Any, Any], told: Callable[[str], None]) -> None:
        self.document, self.told = document, told
        self.file = AllocatorFile("cuda-snapshot")
        self.streams: dict[int, int] = {0: 0}
        traces = document.get("device_traces") or []
        if not isinstance(traces, (list, tuple)) or not all(isinstance(t, (list, tuple)) for t in traces):
            raise ReaderError("its 'device_traces' are not lists of events.")
        self.traces: Sequence[Sequence[Mapping[str, Any]]] = traces

    def read(self) -> AllocatorFile:
        file = self.file
        self.told("segments")
        segments = CudaSegments(self.document["segments"], file, self.stream_of)
        file.segments = segments.columns
        self.told("events")
        events, kind = self._events(segments)
        self.told("lifetimes")
        found = alloc_rows(events, kind, segments.living if segments.known else None)
        self._fill(events, found)
        self._describe(found, kind, segments)
        return file

    def stream_of(self, handles: Sequence[Any]) -> NDArray[np.uint16]:
        """Return small numbers for stream handles: 0 is the default, the others as they appear."""
        known = self.streams
        for handle in dict.fromkeys(handles):
            known.setdefault(handle, len(known))
        if len(known) > 65_535:
            raise ReaderError("it names more than 65,535 streams.")
        return np.fromiter(map(known.__getitem__, handles), np.uint16, len(handles))

    # -- events ---------------------------------------------------------------------------------

    def _events(self, segments: CudaSegments) -> tuple[Columns, NDArray[np.int8]]:
        devices = np.repeat(np.arange(len(self.traces)), [len(trace) for trace in self.traces])
        events = [event for trace in self.traces for event in trace]
        if not set(map(type, events)) <= {dict}:
            raise ReaderError("an event of its trace is not a dictionary.")
        file, strings = self.file, self.file.strings
        columns: Columns = {
            "action": strings.ids_of(_field(events, "action", "")), "address": unsigned(_addresses(events)),
            "size_bytes": integers(_field(events, "size", 0)),
            "device": devices.astype(np.int64),
            "stream": self.stream_of(_field(events, "stream", 0)),
            "stack": file.stacks.ids_of(_field(events, "frames", None)),
            "note": self._notes(events), "category": _categories(events),
        }  # fmt: skip
        columns["pool"] = segments.pool_of(columns["address"], columns["device"], events)
        columns["t_ns"] = self._times(events, devices)
        if sum(map(bool, self.traces)) > 1:
            order = _merged_order(columns["t_ns"], devices)
            columns = {name: values[order] for name, values in columns.items()}
        self._count_unknown(columns["action"], events)
        return columns, self._kinds(columns["action"])

    def _times(self, events: Sequence[Mapping[str, Any]], devices: NDArray[Any]) -> NDArray[np.int64]:
        times = _field(events, "time_us", None)
        if events and None not in times:
            return integers(times) * 1000
        self.file.ordered = "event"
        counts = np.bincount(devices, minlength=max(1, len(self.traces)))
        if not len(events):
            return np.empty(0, np.int64)
        return np.concatenate([np.arange(count, dtype=np.int64) for count in counts]) * UNTIMED_NS

    def _notes(self, events: Sequence[Mapping[str, Any]]) -> NDArray[np.int64]:
        said = [_field(events, "user_metadata", ""), _field(events, "compile_context", "N/A")]
        metadata, context = (self.file.strings.ids_of(values) for values in said)
        nothing = self.file.strings.id_of("N/A")
        context = np.where(context == nothing, 0, context)
        values = list(self.file.strings.values)
        pair = metadata * len(values) + context
        if not pair.any():
            return pair
        unique, inverse = np.unique(pair, return_inverse=True)
        parts = (divmod(one, len(values)) for one in unique.tolist())
        texts = [" · ".join(filter(None, (values[a], values[b]))) for a, b in parts]
        return self.file.strings.ids_of(texts)[inverse]

    def _kinds(self, actions: NDArray[np.int64]) -> NDArray[np.int8]:
        """Say which events move blocks: a block is back in the pool when its free is completed."""
        id_of = self.file.strings.id_of
        kind = np.full(len(actions), NONE, np.int8)
        kind[actions == id_of("alloc")] = ALLOCATED
        completed = np.isin(actions, [id_of("free_completed"), id_of("free")])
        if not completed.any():  # torch can be told to skip either of the two
            completed = actions == id_of("free_requested")
        kind[completed] = FREED
        return kind

    def _count_unknown(self, actions: NDArray[np.int64], events: Sequence[Mapping[str, Any]]) -> None:
        for action, count in zip(*np.unique(actions, return_counts=True), strict=True):
            name = self.file.strings.values[action]
            if name not in ACTIONS:
                self.file.count_unknown(f"action {name[:40]}", int(count))
        for key in set().union(*({*event} for event in events[:1000]), {*events[-1]} if events else ()):
            if key not in _EVENT_KEYS:
                self.file.count_unknown(f"event key {str(key)[:40]}")
        for key in self.document:
            if key not in _TOP_KEYS:
                self.file.count_unknown(f"key {str(key)[:40]}")

    # -- what a session is told -----------------------------------------------------------------

    def _fill(self, events: Columns, found: AllocRows) -> None:
        file, count = self.file, len(events["t_ns"])
        annotation, spans = self._annotations()
        first = min((int(t[0]) for t in (events["t_ns"], annotation["t_ns"]) if len(t)), default=0)
        file.origin_ns = first
        steps = find_steps(spans, first)
        times = np.append(events["t_ns"], events["t_ns"][-1] if count else first)
        rows = found.rows
        t_ns = times[rows["event"]]
        step = steps.step_of(t_ns)
        module = np.where(rows["inferred"], file.strings.id_of("(inferred)"), 0)
        file.alloc = {
            "t_ns": t_ns, "address": rows["address"], "delta_bytes": rows["delta_bytes"],
            "total_bytes": rows["total_bytes"], "step": step, "phase": _phase_at(steps.optimizer, t_ns),
            "category": rows["category"], "device": rows["device"], "module": module,
            "stack": rows["stack"], "stream": rows["stream"], "pool": rows["pool"],
        }  # fmt: skip
        file.baseline = {**found.baseline, "name": np.zeros(len(found.baseline["address"]), "u4")}
        file.trace = {name: values for name, values in events.items() if name != "category"}
        file.trace["alloc_row"] = found.alloc_row
        file.annotation = annotation
        live, peak = step_bytes(
            steps.t1_ns, t_ns, rows["delta_bytes"], int(found.baseline["size_bytes"].sum())
        )
        file.step, file.phase = step_columns(steps, live, peak), phase_columns(steps)

    def _annotations(self) -> tuple[Columns, Any]:
        said = [a for a in self.document.get("external_annotations") or [] if isinstance(a, Mapping)]
        names = [str(one.get("name", "")) for one in said]
        columns: Columns = {
            "t_ns": integers([one.get("time_us", 0) for one in said]) * 1000,
            "stage": np.array([one.get("stage") == "END" for one in said], "u1"),
            "device": integers([one.get("device", 0) for one in said]),
            "name": self.file.strings.ids_of(names),
        }  # fmt: skip
        spans = paired_spans(names, columns["stage"], columns["device"], columns["t_ns"])
        if self.file.ordered == "event":
            columns = {name: values[:0] for name, values in columns.items()}
            spans = paired_spans([], *(columns[name] for name in ("stage", "device", "t_ns")))
        return columns, spans

    def _describe(self, found: AllocRows, kind: NDArray[np.int8], segments: CudaSegments) -> None:
        file = self.file
        settings = self.document.get("allocator_settings")
        file.settings = dict(settings) if isinstance(settings, Mapping) else {}
        count = max([len(self.traces), *(segments.columns["segment_device"].astype(np.int64) + 1)], default=0)
        file.devices = [{"index": index, "total_bytes": -1} for index in range(int(count))]
        notes = file.notes
        if not (kind >= 0).any():
            notes.append(
                "The file has no allocation history, only the state when it was written: record with "
                "torch.cuda.memory._record_memory_history() before what you want to see."
            )
        if file.ordered == "event" and len(kind):
            notes.append("The events have no times; they stand one after the other, one microsecond each.")
        listed = len(found.baseline["address"])
        if listed and (kind >= 0).any():
            notes.append(
                f"{listed:,} blocks were there before the history begins ({found.unseen:,} of them are "
                "known by their free alone): when they were made was not seen."
            )
        if found.missed_frees:
            notes.append(f"{found.missed_frees:,} frees are not in the history and were inferred.")
        if found.missed_allocs:
            notes.append(f"{found.missed_allocs:,} allocations are not in the history and were inferred.")
        if file.unknown:
            names = ", ".join(f"{name} ({count:,})" for name, count in list(file.unknown.items())[:8])
            notes.append(f"Not understood, but kept: {names}.")


def _field(events: Sequence[Mapping[str, Any]], key: str, default: Any) -> list[Any]:
    """Return one value of every event; quickly where all of them have it."""
    try:
        return list(map(itemgetter(key), events))
    except KeyError:
        return [event.get(key, default) for event in events]


def _addresses(events: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return the address of every event; an oom has what is free on the device in its place."""
    try:
        return list(map(itemgetter("addr"), events))
    except KeyError:
        return [event.get("addr", event.get("device_free", 0)) for event in events]


def _categories(events: Sequence[Mapping[str, Any]]) -> NDArray[np.int64]:
    if not any("category" in event for event in events[:100]):
        return np.full(len(events), _UNKNOWN, np.int64)
    return np.array([_CATEGORY_NAMES.get(str(e.get("category")).lower(), _UNKNOWN) for e in events], np.int64)


def _merged_order(t_ns: NDArray[np.int64], devices: NDArray[Any]) -> NDArray[np.int64]:
    """Return the order over all devices by time, which never breaks the order within a device."""
    clock = t_ns.copy()
    for device in np.unique(devices):
        mine = devices == device
        clock[mine] = np.maximum.accumulate(clock[mine])
    return np.argsort(clock, kind="stable")


def _phase_at(optimizer: Any, t_ns: NDArray[np.int64]) -> NDArray[np.uint8]:
    inside = np.zeros(len(t_ns), np.int64)
    begins, ends = np.sort(optimizer.t0_ns), np.sort(optimizer.t1_ns)
    inside = np.searchsorted(begins, t_ns, side="right") - np.searchsorted(ends, t_ns, side="left")
    return np.where(inside > 0, 3, 0).astype(np.uint8)
