"""The frames of a foreign memory file, as an agent would have sent them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.core.schema import RECORD_COLUMNS, STREAM_COLUMNS
from tensorscope.core.wire import Column, Frame
from tensorscope.readers.allocator_file import AllocatorFile, Columns

ROWS_A_FRAME = 1 << 18
"""At 60 bytes a row, a quarter of what a frame may hold."""
_STRINGS_A_FRAME = 2048
_HEADER_CHARS = 200_000


def frames_of(file: AllocatorFile, path: str) -> Iterator[Frame]:
    """Yield the frames of `file`, which came from `path`, in the order in which a store wants them."""
    yield Frame("hello", clock_ns=file.origin_ns, meta=_hello(file, path))
    yield Frame("source", clock_ns=file.origin_ns, meta=_source(file, path))
    yield from _strings(file.strings.values)
    yield from _stacks(file)
    if len(file.baseline.get("address", ())):
        columns = _columns(RECORD_COLUMNS["baseline"], file.baseline)
        yield Frame("baseline", clock_ns=file.origin_ns, meta={"reason": "start"}, columns=columns)
    for kind in ("annotation", "phase", "alloc", "trace", "step"):
        yield from _rows(kind, getattr(file, kind))
    if len(file.segments.get("segment_address", ())):
        meta = {"reason": "end", "trace_rows": len(file.trace.get("t_ns", ()))}
        columns = _columns(RECORD_COLUMNS["segments"], file.segments)
        yield Frame("segments", clock_ns=file.origin_ns, meta=meta, columns=columns)
    yield Frame("bye", meta={"reason": "The file ends here."})


def _hello(file: AllocatorFile, path: str) -> dict[str, Any]:
    devices = [
        {"name": f"CUDA {one['index']}", "kind": "cuda", "total_bytes": max(0, one["total_bytes"])}
        for one in file.devices
    ]
    return {
        "pid": 0, "argv": [], "script": path, "python": "", "torch": file.torch, "devices": devices,
        "rank": 0, "world_size": 1, "host": "", "origin_ns": file.origin_ns, "origin_unix_ns": file.origin_ns,
        "level": "scope", "recorder": file.recorder, "recorder_note": " ".join(file.notes),
        "capabilities": [],
    }  # fmt: skip


def _source(file: AllocatorFile, path: str) -> dict[str, Any]:
    return {
        "format": file.recorder, "path": path, "devices": file.devices, "settings": _plain(file.settings),
        "ordered": file.ordered, "notes": file.notes, "unknown": file.unknown,
    }  # fmt: skip


def _plain(value: Any, depth: int = 0) -> Any:
    """Return `value` as JSON can hold it, cut where it is large or deep."""
    if isinstance(value, dict) and depth < 4:
        return {str(key)[:100]: _plain(one, depth + 1) for key, one in list(value.items())[:200]}
    if isinstance(value, (list, tuple)) and depth < 4:
        return [_plain(one, depth + 1) for one in value[:200]]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float)) and abs(value) < 2**63:
        return value
    return str(value)[:1000]


def _strings(values: list[str]) -> Iterator[Frame]:
    first, batch, size = 1, list[str](), 0
    for text in values[1:]:
        batch.append(text)
        size += 6 * len(text)
        if len(batch) == _STRINGS_A_FRAME or size > _HEADER_CHARS:
            yield Frame("strings", meta={"first": first, "values": batch})
            first, batch, size = first + len(batch), [], 0
    if batch:
        yield Frame("strings", meta={"first": first, "values": batch})


def _stacks(file: AllocatorFile) -> Iterator[Frame]:
    """Yield the stacks, at most so many in a frame that its bound is kept."""
    columns = file.stacks.columns()
    lengths = columns["length"].astype(np.int64)
    ends = np.append(0, np.cumsum(lengths))
    at, first_frame = 0, 0
    while at < len(lengths):
        stop = max(at + 1, int(np.searchsorted(ends, ends[at] + ROWS_A_FRAME * 8, side="right")) - 1)
        frames = slice(None) if at == 0 else slice(0, 0)
        part = {
            "file": columns["file"][frames], "line": columns["line"][frames],
            "function": columns["function"][frames], "length": columns["length"][at:stop],
            "frames": columns["frames"][ends[at] : ends[stop]],
        }  # fmt: skip
        meta = {"first_frame": first_frame, "first_stack": at + 1}
        yield Frame("stacks", meta=meta, columns=_columns(RECORD_COLUMNS["stacks"], part))
        first_frame, at = len(columns["file"]), stop


def _rows(kind: str, columns: Columns) -> Iterator[Frame]:
    count = len(next(iter(columns.values()))) if columns else 0
    for at in range(0, count, ROWS_A_FRAME):
        part = {name: values[at : at + ROWS_A_FRAME] for name, values in columns.items()}
        yield Frame(kind, columns=_columns(STREAM_COLUMNS[kind], part))


def _columns(dtypes: dict[str, str], values: Columns) -> dict[str, Column]:
    return {name: _column(dtype, values[name]) for name, dtype in dtypes.items() if name in values}


def _column(dtype: str, values: NDArray[Any]) -> Column:
    array = np.ascontiguousarray(values, "<" + dtype)
    return Column(dtype, array.shape, array.data.cast("B") if array.size else b"")
