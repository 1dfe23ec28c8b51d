"""A random but consistent allocator stream, with resyncs, and what it means by brute force."""

import random
from dataclasses import dataclass

import numpy as np

from tensorscope.core.wire import Frame
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
