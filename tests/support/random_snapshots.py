"""Random but consistent CUDA memory snapshots, in every layout torch has written, and the truth behind them.

The toy allocator here only has to be consistent (blocks tile their segments and never overlap); it does
not choose blocks as torch does.
"""

import gzip
import json
import pickle
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MIB = 1 << 20
FRAMES = [
    {"filename": f"/srv/train/{name}.py", "line": 10 * i + 7, "name": f"{name}_{i}"}
    for i, name in enumerate(["model", "attention", "loss", "optim", "data", "mlp"])
]
LAYOUTS = ("2023-09", "2024-02", "2025-05", "2026-03")


@dataclass
class ToyBlock:
    address: int
    size: int
    requested: int = 0
    state: str = "inactive"
    frames: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class ToySegment:
    address: int
    size: int
    device: int
    stream: int
    pool: tuple[int, int]
    large: bool
    blocks: list[ToyBlock]


class ToyAllocator:
    """Makes events at random; `snapshot` gives what torch would write.

    Attributes
    ----------
    live_bytes
        Requested bytes of blocks that are not back in the pool, after each event of the trace.
    states
        After each event: {(device, address): (size, requested, state)} of every block of every segment.
    """

    def __init__(self, seed: int = 0, devices: int = 1, streams: int = 1, pools: int = 1) -> None:
        self.random = random.Random(seed)
        self.devices, self.streams, self.pools = devices, [0, *(7000 + s for s in range(1, streams))], pools
        self.segments: list[ToySegment] = []
        self.traces: list[list[dict[str, Any]]] = [[] for _ in range(devices)]
        self.order: list[tuple[int, int]] = []
        self.live_bytes: list[int] = []
        self.states: list[dict[tuple[int, int], tuple[int, int, str]]] = []
        self.annotations: list[dict[str, Any]] = []
        self.keep_states = True
        self._clock_us = 1_700_000_000_000_000
        self._next_address = [0x7F00_0000_0000 + (d << 40) for d in range(devices)]
        self._used: list[tuple[ToySegment, ToyBlock]] = []
        self._pending: list[tuple[ToySegment, ToyBlock]] = []

    def run(self, events: int) -> "ToyAllocator":
        """Make about so many events."""
        while len(self.order) < events:
            self.act()
        return self

    def act(self) -> None:
        """Do one thing at random."""
        chance = self.random.random()
        if self._pending and chance < 0.15:
            self._complete(*self._pending.pop(self.random.randrange(len(self._pending))))
        elif self._used and chance < 0.5:
            self.free(self.random.randrange(len(self._used)), late=self.random.random() < 0.3)
        elif chance < 0.53:
            self.release_free_segments()
        else:
            self.allocate(self.random.choice([100, 512, 5000, 300_000, 3 * MIB, 30 * MIB]))

    def allocate(self, requested: int, stream: int | None = None, pool: tuple[int, int] | None = None,
                 device: int | None = None) -> ToyBlock:  # fmt: skip
        """Hand out a block; a new segment where no free block is large enough."""
        device = self.random.randrange(self.devices) if device is None else device
        stream = self.random.choice(self.streams) if stream is None else stream
        pool = (0, self.random.randrange(self.pools)) if pool is None else pool
        size = -(-requested // 512) * 512
        large = size > MIB
        frames = self.random.sample(FRAMES, 2)
        place = self._free_block(device, stream, pool, large, size)
        if place is None:
            place = self._new_segment(device, stream, pool, large, size, frames)
        segment, block = place
        if block.size > size:
            rest = ToyBlock(block.address + size, block.size - size)
            segment.blocks.insert(segment.blocks.index(block) + 1, rest)
            block.size = size
        block.requested, block.state, block.frames = requested, "active_allocated", frames
        self._used.append((segment, block))
        self._event(segment, "alloc", block.address, requested, frames)
        return block

    def free(self, index: int, late: bool = False) -> None:
        """Free the used block `index`; `late`: another stream still uses it."""
        segment, block = self._used.pop(index)
        block.state = "active_pending_free"
        self._event(segment, "free_requested", block.address, block.requested, block.frames)
        self._pending.append((segment, block)) if late else self._complete(segment, block)

    def release_free_segments(self) -> None:
        """Give back every segment in which nothing lives."""
        for segment in [s for s in self.segments if all(b.state == "inactive" for b in s.blocks)]:
            self.segments.remove(segment)
            self._event(segment, "segment_free", segment.address, segment.size, [])

    def annotate(self, stage: str, name: str, device: int = 0) -> None:
        """Begin or end a span of the program."""
        self._clock_us += 1
        self.annotations.append({"stage": stage, "name": name, "device": device, "time_us": self._clock_us})

    def out_of_memory(self, requested: int, device_free: int, device: int = 0, stream: int = 0) -> None:
        """Write that a request failed."""
        self._clock_us += 1
        self.traces[device].append(
            {"action": "oom", "size": requested, "device_free": device_free, "stream": stream,
             "time_us": self._clock_us, "frames": FRAMES[:2]}
        )  # fmt: skip
        self._note(device)

    def _complete(self, segment: ToySegment, block: ToyBlock) -> None:
        requested, frames = block.requested, block.frames
        block.requested, block.state = 0, "inactive"
        self._event(segment, "free_completed", block.address, requested, frames)
        merged: list[ToyBlock] = []
        for one in segment.blocks:
            if merged and merged[-1].state == one.state == "inactive":
                merged[-1].size += one.size
            else:
                merged.append(one)
        segment.blocks = merged
        self._note_again()

    def _free_block(
        self, device: int, stream: int, pool: tuple[int, int], large: bool, size: int
    ) -> tuple[ToySegment, ToyBlock] | None:
        fits = [
            (s, b) for s in self.segments for b in s.blocks
            if (s.device, s.stream, s.pool, s.large) == (device, stream, pool, large)
            and b.state == "inactive" and b.size >= size
        ]  # fmt: skip
        return min(fits, key=lambda pair: (pair[1].size, pair[1].address)) if fits else None

    def _new_segment(self, device: int, stream: int, pool: tuple[int, int], large: bool, size: int,
                     frames: list[dict[str, Any]]) -> tuple[ToySegment, ToyBlock]:  # fmt: skip
        total = 2 * MIB if not large else (20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB)
        address = self._next_address[device]
        self._next_address[device] += total + 2 * MIB
        block = ToyBlock(address, total)
        segment = ToySegment(address, total, device, stream, pool, large, [block])
        self.segments.append(segment)
        self._event(segment, "segment_alloc", address, total, frames)
        return segment, block

    def _event(
        self, segment: ToySegment, action: str, address: int, size: int, frames: list[dict[str, Any]]
    ) -> None:
        self._clock_us += self.random.randrange(0 if self.devices == 1 else 1, 3)
        self.traces[segment.device].append(
            {"action": action, "addr": address, "size": size, "stream": segment.stream,
             "time_us": self._clock_us, "frames": frames}
        )  # fmt: skip
        self._note(segment.device)

    def _note(self, device: int) -> None:
        self.order.append((device, len(self.traces[device]) - 1))
        blocks = [(s, b) for s in self.segments for b in s.blocks]
        self.live_bytes.append(sum(b.requested for _, b in blocks))
        self.states.append({})
        self._note_again()

    def _note_again(self) -> None:
        if self.keep_states and self.states:
            self.states[-1] = {
                (s.device, b.address): (b.size, b.requested, b.state) for s in self.segments for b in s.blocks
            }

    def snapshot(self, layout: str = "2026-03", first: int = 0) -> dict[str, Any]:
        """Return the document; events before number `first` (over all devices) were overwritten."""
        kept = set(self.order[first:])
        traces = [
            [self._written(event, layout) for at, event in enumerate(trace) if (device, at) in kept]
            for device, trace in enumerate(self.traces)
        ]
        segments = [self._segment(segment, layout) for segment in self.segments]
        found: dict[str, Any] = {"segments": segments, "device_traces": traces}
        if layout >= "2025":
            found["allocator_settings"] = {"max_split_size": -1, "expandable_segments": False}
            found["external_annotations"] = self.annotations
        return found

    @staticmethod
    def _written(event: dict[str, Any], layout: str) -> dict[str, Any]:
        event = dict(event)
        if layout < "2024":
            del event["time_us"]
        if layout >= "2025-09":
            event["compile_context"] = "N/A"
        if layout >= "2026":
            event["user_metadata"] = ""
        return event

    @staticmethod
    def _segment(segment: ToySegment, layout: str) -> dict[str, Any]:
        old = layout < "2024"
        blocks: list[dict[str, Any]] = []
        for block in segment.blocks:
            said: dict[str, Any] = {
                "size": block.size,
                "requested_size": block.requested,
                "state": block.state,
            }
            if old:
                lives = block.state != "inactive"
                said["history"] = [{"frames": block.frames, "real_size": block.requested}] if lives else []
            else:
                said |= {"address": block.address, "frames": block.frames}
            blocks.append(said)
        found = {
            "device": segment.device, "address": segment.address, "total_size": segment.size,
            "stream": segment.stream, "segment_type": "large" if segment.large else "small",
            "allocated_size": sum(b.size for b in segment.blocks if b.state == "active_allocated"),
            "active_size": sum(b.size for b in segment.blocks if b.state != "inactive"), "blocks": blocks,
        }  # fmt: skip
        if not old:
            found |= {"segment_pool_id": segment.pool, "is_expandable": False, "frames": []}
        return found


def write_snapshot(document: Any, path: Path, protocol: int = 4) -> Path:
    """Write `document` as the suffix of `path` asks: .json or .pickle, with or without .gz."""
    plain = json.dumps(document).encode() if ".json" in path.name else pickle.dumps(document, protocol)
    path.write_bytes(gzip.compress(plain) if path.suffix == ".gz" else plain)
    return path
