"""Snapshots as torch would write them of a program that ran on our own model of the allocator.

They prove nothing about the model itself; they prove that what a file says of segments, pages and
blocks is put together again as it was.
"""

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorscope.compute.allocator_domain import Block, Place
from tensorscope.compute.allocator_settings import MIB, UNLIMITED, AllocatorSettings
from tensorscope.compute.caching_allocator import CachingAllocator

FREE_LINE, EMPTY_LINE = 800, 900


@dataclass
class Held:
    block: Block
    address: int
    requested: int
    stream: int


class ModelProgram:
    """Acts at random on the model and writes what happened as torch spells it."""

    def __init__(self, seed: int, settings: AllocatorSettings, limit_bytes: int | None = None) -> None:
        self.random, self.settings = random.Random(seed), settings
        self.model = CachingAllocator(settings, limit_bytes)
        self.model.next_address = 0x7F00_0000_0000
        self.trace: list[dict[str, Any]] = []
        self.live: dict[int, Held] = {}
        self.pending: dict[int, Held] = {}
        self.count = self.ooms = 0

    def run(self, acts: int) -> "ModelProgram":
        """Do so many things."""
        for _ in range(acts):
            self.act()
        return self

    def act(self) -> None:
        """Do one thing at random."""
        chance = self.random.random()
        if self.pending and chance < 0.1:
            owner = self.random.choice(list(self.pending))
            self.model.free(self.pending[owner].block)
            self._complete({owner}, FREE_LINE)
        elif self.live and chance < 0.45:
            self._free(self.random.choice(list(self.live)))
        elif chance < 0.48:
            before = self._ranges()
            self.model.empty_cache()
            self._complete(set(self.pending), EMPTY_LINE)
            self._segment_events(before, EMPTY_LINE)
        else:
            self._malloc(int(2 ** self.random.uniform(9, 25.5)), self.random.choice([0, 0, 0, 5000]))

    def _malloc(self, size: int, stream: int) -> None:
        fit = int(self.settings.round_sizes(np.array([size]))[0])
        pool = "(0, 3)" if self.random.random() < 0.1 else ""
        before, line = self._ranges(), self.random.randrange(1, 40)
        self.count += 1
        block = self.model.malloc(self.count, size, fit, self.model.place(pool, stream))
        if block is not None:
            self.live[self.count] = Held(block, block.address, size, stream)
        self._complete({owner for owner in self.pending if owner not in self.model.pending}, line)
        self._segment_events(before, line)
        if block is None:
            self.ooms += 1
            self._note("oom", line, device_free=0, size=fit, stream=stream)
            return
        self._note("alloc", line, addr=block.address, size=size, stream=stream, pool_id=pool)

    def _free(self, owner: int) -> None:
        held = self.live.pop(owner)
        self._note("free_requested", FREE_LINE, addr=held.address, size=held.requested, stream=held.stream)
        self.pending[owner] = held
        if self.random.random() < 0.15:
            self.model.hold(held.block)
        else:
            self.model.free(held.block)
            self._complete({owner}, FREE_LINE)

    def _complete(self, owners: set[int], line: int) -> None:
        for owner in sorted(owners):
            held = self.pending.pop(owner)
            self._note("free_completed", line, addr=held.address, size=held.requested, stream=held.stream)

    def _note(self, action: str, line: int, **columns: Any) -> None:
        columns.pop("pool_id", None)
        frames = [{"filename": "train.py", "line": line, "name": "f"}]
        time_us = 1_700_000_000_000_000 + 10 * len(self.trace)
        self.trace.append({"action": action, "time_us": time_us, "frames": frames, **columns})

    # -- segments ---------------------------------------------------------------------------------

    def _ranges(self) -> dict[tuple[int, int], tuple[Place, bool, bool, list[Block]]]:
        """Return what the device gave: (begin, end) to place, large, expandable and its blocks."""
        found = {}
        for place in self.model.places.values():
            for domain in (place.small, place.large):
                live = [h.block for held in (self.live, self.pending) for h in held.values()]
                blocks = [*domain.blocks, *(block for block in live if block.domain is domain)]
                for head in blocks:
                    if head.before is not None and head.before.is_mapped:
                        continue
                    chain = [head]
                    while (after := chain[-1].after) is not None and after.is_mapped:
                        chain.append(after)
                    key = head.address, chain[-1].address + chain[-1].size
                    found[key] = place, domain is place.large, head.expandable, chain
        return found

    def _segment_events(self, before: dict[tuple[int, int], Any], line: int) -> None:
        """Write the difference to the ranges of `before`: what went, then what came."""
        after = self._ranges()
        for action, old, new in (("free", before, after), ("alloc", after, before)):
            for (begin, end), (place, _, expandable, _) in sorted(old.items(), key=lambda one: one[0]):
                taken = [(b, e) for (b, e), what in new.items() if what[0] is place and b < end and begin < e]
                spelled = {"free": "unmap", "alloc": "map"}[action] if expandable else action
                for low, high in _difference(begin, end, taken):
                    self._note(f"segment_{spelled}", line, addr=low, size=high - low, stream=place.stream)

    def snapshot(self, first: int = 0) -> dict[str, Any]:
        """Return the document; `first`: the events before it were overwritten."""
        owners = {held.block: "active_allocated" for held in self.live.values()}
        owners |= {held.block: "active_pending_free" for held in self.pending.values()}
        segments = []
        for (begin, end), (place, large, expandable, chain) in sorted(self._ranges().items()):
            segments.append({
                "device": 0, "address": begin, "total_size": end - begin, "stream": place.stream,
                "segment_type": "large" if large else "small", "is_expandable": expandable,
                "segment_pool_id": tuple(int(n) for n in place.pool.strip("()").split(",")) if place.pool
                else (0, 0),
                "blocks": [
                    {"address": block.address, "size": block.size, "requested_size": block.requested,
                     "state": owners.get(block, "inactive")}
                    for block in chain
                ],
            })  # fmt: skip
        max_split = self.settings.max_split_bytes
        settings = {
            "PYTORCH_CUDA_ALLOC_CONF": self.settings.environment,
            "max_split_size": max_split if max_split < UNLIMITED else -1,
            "expandable_segments": self.settings.expandable_segments,
            "roundup_power2_divisions": {
                str(1 << index): n for index, n in enumerate(self.settings.roundup_power2_divisions)
            },
            "garbage_collection_threshold": self.settings.garbage_collection_threshold,
        }
        return {"segments": segments, "device_traces": [self.trace[first:]], "allocator_settings": settings,
                "external_annotations": []}  # fmt: skip


def _difference(begin: int, end: int, taken: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found = []
    for low, high in sorted(taken):
        if begin < low:
            found.append((begin, min(low, end)))
        begin = max(begin, high)
    return found + ([(begin, end)] if begin < end else [])


__all__ = ["MIB", "ModelProgram"]
