"""`torch.cuda.memory._snapshot()` as frames, in plain Python: the program may have no numpy."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from tensorscope.agent.context import Context, column
from tensorscope.core.schema import BLOCK_STATES, RECORD_COLUMNS, STREAM_COLUMNS
from tensorscope.core.wire import Frame

ROWS_A_FRAME = 1 << 17
_MAX_FRAMES = 64
"""Frames of a stack that are kept, from the innermost."""


class SnapshotColumns:
    """Turns snapshots into frames, each event once. Keeps what the stream knows already."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._frames: dict[tuple[int, int, int], int] = {}
        self._stacks: dict[tuple[int, ...], int] = {(): 0}
        self._sent_frames, self._sent_stacks = 0, 1
        self._streams: dict[int, int] = {0: 0}
        self._last: dict[int, tuple[int, int]] = {}
        """For each device, the time of the last event that was sent, and how many had that time."""
        self._rows = 0

    def frames(self, snapshot: dict[str, Any], reason: str, step: int) -> Iterator[Frame]:
        """Yield ``stacks``, ``trace`` and ``segments`` frames of what is new."""
        # The allocator's clock is the wall clock: ours is another.
        offset_ns = time.perf_counter_ns() - time.time_ns()
        pools = _Pools(snapshot["segments"])
        rows = [
            self._event(device, event, offset_ns, pools)
            for device, trace in enumerate(snapshot["device_traces"])
            for event in self._new(device, trace)
        ]
        rows.sort(key=lambda row: row[0])
        segments = self._segments(snapshot["segments"])
        yield from self._stack_frames(step)
        names = tuple(STREAM_COLUMNS["trace"])
        for first in range(0, len(rows), ROWS_A_FRAME):
            values = dict(zip(names, zip(*rows[first : first + ROWS_A_FRAME], strict=True), strict=True))
            yield Frame("trace", step, columns=_columns(STREAM_COLUMNS["trace"], values))
        self._rows += len(rows)
        meta = {"reason": reason, "trace_rows": self._rows}
        yield Frame("segments", step, time.perf_counter_ns(), meta=meta, columns=segments)

    def _new(self, device: int, trace: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the events that were not sent yet: those after the last time, and more of that time."""
        last, same = self._last.get(device, (-1, 0))
        new = []
        for event in reversed(trace):
            if event.get("time_us", 0) < last:
                break
            new.append(event)
        new.reverse()
        at_last = sum(1 for event in new if event.get("time_us", 0) == last)
        new = new[min(same, at_last) :]
        if new:
            newest = new[-1].get("time_us", 0)
            count = sum(1 for event in new if event.get("time_us", 0) == newest)
            self._last[device] = newest, count + (same if newest == last else 0)
        return new

    def _event(self, device: int, event: dict[str, Any], offset_ns: int, pools: _Pools) -> tuple[Any, ...]:
        string, address = self._context.string, event.get("addr", event.get("device_free", 0))
        context = str(event.get("compile_context") or "")
        note = " · ".join(
            filter(None, (str(event.get("user_metadata") or ""), "" if context == "N/A" else context))
        )
        return (
            event.get("time_us", 0) * 1000 + offset_ns, string(event["action"]), address % 2**64,
            event.get("size", 0), device, self._stream(event.get("stream", 0)),
            string(pools.of(device, address)), self._stack(event.get("frames")), string(note), 0,
        )  # fmt: skip

    def _stream(self, handle: int) -> int:
        return self._streams.setdefault(handle, min(len(self._streams), 65_535))

    def _stack(self, frames: Any) -> int:
        string, known = self._context.string, self._frames
        key = []
        for frame in (frames or ())[:_MAX_FRAMES]:
            place = string(frame["filename"]), max(0, int(frame["line"])), string(frame["name"])
            key.append(known.setdefault(place, len(known)))
        return self._stacks.setdefault(tuple(key), len(self._stacks))

    def _stack_frames(self, step: int) -> Iterator[Frame]:
        frames, stacks = list(self._frames)[self._sent_frames :], list(self._stacks)[self._sent_stacks :]
        if not frames and not stacks:
            return
        values = {
            "file": [frame[0] for frame in frames], "line": [frame[1] for frame in frames],
            "function": [frame[2] for frame in frames], "length": [len(stack) for stack in stacks],
            "frames": [frame for stack in stacks for frame in stack],
        }  # fmt: skip
        meta = {"first_frame": self._sent_frames, "first_stack": self._sent_stacks}
        self._sent_frames, self._sent_stacks = len(self._frames), len(self._stacks)
        yield Frame("stacks", step, meta=meta, columns=_columns(RECORD_COLUMNS["stacks"], values))

    def _segments(self, segments: list[dict[str, Any]]) -> dict[str, Any]:
        string, values = self._context.string, {name: list[int]() for name in RECORD_COLUMNS["segments"]}
        for number, segment in enumerate(segments):
            pool = string(pool_name(segment.get("segment_pool_id")))
            row = {
                "address": segment["address"], "bytes": segment["total_size"], "device": segment["device"],
                "stream": self._stream(segment["stream"]), "pool": pool,
                "large": int(segment["segment_type"] != "small"),
                "stack": self._stack(segment.get("frames")),
                "expandable": int(bool(segment.get("is_expandable"))),
            }  # fmt: skip
            for name, value in row.items():
                values[f"segment_{name}"].append(value)
            for block in segment["blocks"]:
                state = block["state"]
                values["block_segment"].append(number)
                values["block_address"].append(block["address"])
                values["block_bytes"].append(block["size"])
                values["block_requested_bytes"].append(block.get("requested_size", block["size"]))
                values["block_state"].append(BLOCK_STATES.index(state) if state in BLOCK_STATES else 2)
                values["block_stack"].append(self._stack(block.get("frames")))
        return _columns(RECORD_COLUMNS["segments"], values)


class _Pools:
    """Which pool an address belongs to, by the segment that is there now."""

    def __init__(self, segments: list[dict[str, Any]]) -> None:
        private = [segment for segment in segments if pool_name(segment.get("segment_pool_id"))]
        self._ranges = [
            (s["device"], s["address"], s["address"] + s["total_size"], pool_name(s["segment_pool_id"]))
            for s in private
        ]

    def of(self, device: int, address: int) -> str:
        """Return its name, "" for the default pool."""
        for where, low, high, name in self._ranges:
            if where == device and low <= address < high:
                return name
        return ""


def pool_name(pool: Any) -> str:
    """Return how the schema writes a pool: the default pool is the empty text."""
    return "" if pool is None or tuple(pool) == (0, 0) else f"({', '.join(map(str, pool))})"


def _columns(dtypes: dict[str, str], values: dict[str, Any]) -> dict[str, Any]:
    return {name: column(dtype, values[name]) for name, dtype in dtypes.items()}
