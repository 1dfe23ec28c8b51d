"""A random but consistent allocator stream, with resyncs, and what it means by brute force."""

import random
from dataclasses import dataclass

import numpy as np

from tensorscope.core.wire import Column, Frame
from tensorscope.models.session_store import SessionStore
from tests.support.sample_frames import ORIGIN_NS, column


@dataclass
class TrueBlock:
    address: int
    size: int
    category: int
    begin: int | None  # row, None: before the recording or in a gap
    end: int | None = None


def alloc_frame(rows, step=0):
    """Return an ``alloc`` frame of (t_ns since origin, address, delta, total, step, phase, category)."""
    t, address, delta, total, steps, phase, category = zip(*rows, strict=True) if rows else [()] * 7
    columns = {
        "t_ns": column("i8", [ORIGIN_NS + at for at in t]), "address": column("u8", address),
        "delta_bytes": column("i8", delta), "total_bytes": column("i8", total), "step": column("i4", steps),
        "phase": column("u1", phase), "category": column("u1", category),
        "device": column("i2", [-1] * len(t)), "module": column("u4", [0] * len(t)),
    }  # fmt: skip
    return Frame("alloc", step, columns=columns)


def baseline_frame(t, blocks, reason="start"):
    columns = {
        "address": column("u8", [b.address for b in blocks]),
        "size_bytes": column("i8", [b.size for b in blocks]),
        "category": column("u1", [b.category for b in blocks]),
        "device": column("i2", [-1] * len(blocks)), "name": column("u4", [0] * len(blocks)),
    }  # fmt: skip
    return Frame("baseline", 0, ORIGIN_NS + t, meta={"reason": reason}, columns=columns)


class AllocStream:
    """Feeds a store and remembers the truth."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.store = SessionStore()
        self.store.ingest(Frame("hello", meta={"origin_ns": ORIGIN_NS}))
        self.t, self.row = 0, 0
        self.live: list[TrueBlock] = []
        self.blocks: list[TrueBlock] = []
        self.totals: list[tuple[int, list[int]]] = []

    def resync(self) -> None:
        """Say what is alive, after a gap in which blocks came and went unseen."""
        self.t += 50
        for block in [b for b in self.live if self.random.random() < 0.3]:
            self.live.remove(block)
        for _ in range(self.random.randrange(4)):
            self._allocate(None)
        self.store.ingest(baseline_frame(self.t, self.live))
        self._note()

    def events(self, count: int) -> None:
        """Allocate and free at random; addresses are reused soon."""
        rows = []
        for _ in range(count):
            self.t += self.random.randrange(1, 4)
            if self.live and self.random.random() < 0.5:
                block = self.live.pop(self.random.randrange(len(self.live)))
                block.end = self.row
                delta = -block.size
            else:
                block = self._allocate(self.row)
                delta = block.size
            self._note()
            total = sum(b.size for b in self.live)
            rows.append((self.t, block.address, delta, total, self.t // 100, self.row % 4, block.category))
            self.row += 1
        self.store.ingest(alloc_frame(rows))

    def _allocate(self, row: int | None) -> TrueBlock:
        taken = {block.address for block in self.live}
        address = next(a for a in range(4096, 1 << 20, 64) if a not in taken and self.random.random() < 0.7)
        size = 64 + len(self.blocks)  # each its own: a gap can then not hide a block behind its twin
        block = TrueBlock(address, size, self.random.randrange(8), row)
        self.live.append(block)
        self.blocks.append(block)
        return block

    def _note(self) -> None:
        now = np.zeros(8, np.int64)
        for block in self.live:
            now[block.category] += block.size
        self.totals.append((self.t, now.tolist()))


def append_rows(store, columns, kind="alloc"):
    """Append numpy columns to a table."""
    store.tables[kind].append({n: Column(v.dtype.str[1:], v.shape, v.tobytes()) for n, v in columns.items()})


def large_store(events, per_step=3000):
    """Return a store of `events` events, 1 us apart, in steps of `per_step`: each block dies in its step."""
    store = SessionStore()
    store.ingest(Frame("hello", meta={"origin_ns": ORIGIN_NS, "level": "scope", "recorder": "native"}))
    store.ingest(baseline_frame(0, [TrueBlock(4096, 1 << 26, 0, None)]))
    rng = np.random.default_rng(0)
    half = per_step // 2
    steps = max(1, events // per_step)
    sizes = rng.integers(64, 1 << 16, (steps, half))
    kinds = rng.integers(1, 8, (steps, half))
    delta = np.concatenate([sizes, -sizes[:, ::-1]], axis=1).ravel()
    block = np.concatenate([np.arange(half), np.arange(half)[::-1]])
    n = len(delta)
    append_rows(store, {
        "t_ns": ORIGIN_NS + 1000 * np.arange(1, n + 1), "delta_bytes": delta,
        "address": np.tile(block, steps).astype(np.uint64) * 65536 + (1 << 40),
        "total_bytes": (1 << 26) + np.cumsum(delta),
        "step": np.arange(n, dtype=np.int32) // per_step,
        "phase": (np.arange(n) % per_step * 3 // per_step + 1).astype(np.uint8),
        "category": np.concatenate([kinds, kinds[:, ::-1]], axis=1).ravel().astype(np.uint8),
        "device": np.full(n, -1, np.int16), "module": np.zeros(n, np.uint32),
    })  # fmt: skip
    _append_steps(store, steps, 1000 * per_step)
    return store


def _append_steps(store, steps, step_ns):
    number = np.arange(steps)
    t0 = ORIGIN_NS + step_ns * number
    table = store.tables["step"]
    data = {name: np.zeros(steps, table[name].dtype) for name in table.names}
    data |= {"step": number.astype(np.int32), "t0_ns": t0, "t1_ns": t0 + step_ns}
    append_rows(store, data, "step")
    third = step_ns // 3
    append_rows(store, {
        "step": number.repeat(3).astype(np.int32), "phase": np.tile([1, 2, 3], steps).astype(np.uint8),
        "t0_ns": (t0[:, None] + third * np.arange(3)).ravel(),
        "t1_ns": (t0[:, None] + third * np.arange(1, 4)).ravel(),
    }, "phase")  # fmt: skip
