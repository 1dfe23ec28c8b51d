"""What a session's program asked an allocator for, on one device, in the form that can be replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.allocator_requests import (
    ALLOC,
    EMPTY_CACHE,
    FAILED_ALLOC,
    FREE,
    FREE_REQUESTED,
    GOT_SEGMENT,
    RELEASED,
    STEP_END,
    Requests,
)  # fmt: skip
from tensorscope.models.allocations import ALIVE, UNSEEN, Allocations
from tensorscope.models.frozen_store import StoreLike

Longs = NDArray[np.int64]

UNREAL_BYTES = 1 << 44
"""No device has that much: blocks of that size are left out."""
_STREAM_BITS = 16
BEFORE = -1
"""Position of blocks that were there before the recording."""
_ORDER = {STEP_END: 0, FREE_REQUESTED: 1, FREE: 2, EMPTY_CACHE: 3, RELEASED: 4, GOT_SEGMENT: 5,
          FAILED_ALLOC: 6, ALLOC: 7}  # fmt: skip
"""What comes first of requests at the same position of which no event of a trace tells the order."""
_GIVES_BACK = ("segment_free", "segment_unmap")
_GETS = ("segment_alloc", "segment_map")


def devices_of(store: StoreLike) -> list[int]:
    """Return the devices whose blocks are known, those with most events first; -1 is the CPU."""
    device = store.tables["alloc"]["device"]
    listed = [record.columns["device"] for record in store.records("baseline")]
    found, counts = np.unique(np.concatenate([device, *listed]), return_counts=True)
    return [int(found[index]) for index in np.argsort(-counts, kind="stable")]


@dataclass(frozen=True, eq=False)
class Recording:
    """One device of a session.

    Attributes
    ----------
    requests
        Blocks are numbered as in `Allocations`.
    position
        One entry a request: `BEFORE`, twice the row of ``alloc`` it comes before, or one more for
        that row itself.
    traced
        The allocator's own events are known: what it got from the device, and when.
    left_out
        Blocks of impossible sizes.
    """

    device: int
    requests: Requests
    position: Longs
    traced: bool
    left_out: int


def find_requests(store: StoreLike, blocks: Allocations, device: int) -> Recording:
    """Return the requests on a device, from the blocks and, on CUDA, the trace of the allocator."""
    return _Builder(store, blocks, device).recording()


class _Builder:
    def __init__(self, store: StoreLike, blocks: Allocations, device: int) -> None:
        self.store, self.blocks, self.device = store, blocks, device
        trace = store.tables["trace"]
        self.rows = np.flatnonzero(trace["device"] == device)
        self.parts: list[dict[str, NDArray[Any]]] = []

    def recording(self) -> Recording:
        blocks = self.blocks
        mine = np.flatnonzero((blocks.device == self.device) & (blocks.size_bytes > 0))
        real = mine[blocks.size_bytes[mine] < UNREAL_BYTES]
        self._allocs_and_frees(real)
        self._steps()
        if len(self.rows):
            self._waiting_frees()
            self._of_the_allocator()
        columns = {
            name: np.concatenate([part[name] for part in self.parts])
            for name in ("kind", "block", "size", "address", "stream", "pool", "position", "event")
        }
        rank = np.array([_ORDER[kind] for kind in range(len(_ORDER))])[columns["kind"]]
        by_address = columns["address"] * (columns["position"] == BEFORE)
        order = np.lexsort((by_address, rank, columns["event"], columns["position"]))
        columns = {name: values[order] for name, values in columns.items()}
        return Recording(self.device, self._requests(columns, real), columns["position"], len(self.rows) > 0,
                         len(mine) - len(real))  # fmt: skip

    def _requests(self, columns: dict[str, NDArray[Any]], real: Longs) -> Requests:
        key = columns["pool"] << _STREAM_BITS | columns["stream"]
        found, place = np.unique(key, return_inverse=True)
        places = tuple(
            (self.store.string(one >> _STREAM_BITS), one & (1 << _STREAM_BITS) - 1) for one in found.tolist()
        )
        return Requests(
            kind=columns["kind"].astype(np.uint8), block=columns["block"], size_bytes=columns["size"],
            place=place.astype(np.int64), address=columns["address"],
            t_ns=self._times(columns["position"]), places=places,
            blocks=int(real.max(initial=-1)) + 2, listed=int((columns["position"] == BEFORE).sum()),
        )  # fmt: skip

    def _times(self, position: Longs) -> Longs:
        t_ns = self.store.tables["alloc"]["t_ns"]
        if not len(t_ns):
            return np.zeros(len(position), np.int64)
        return t_ns[np.clip(position // 2, 0, len(t_ns) - 1)] - self.store.origin_ns

    def _add(self, kind: int, position: Longs, **columns: NDArray[Any]) -> None:
        count = len(position)
        part = {name: np.zeros(count, np.int64) for name in ("block", "size", "stream", "pool")}
        part |= {"address": np.zeros(count, np.uint64), "event": np.full(count, UNSEEN)}
        part |= {"kind": np.full(count, kind), "position": position.astype(np.int64)}
        self.parts.append(part | {name: np.asarray(values) for name, values in columns.items()})

    def _allocs_and_frees(self, real: Longs) -> None:
        blocks = self.blocks
        seen = blocks.begin_row[real] != UNSEEN
        position = np.where(seen, blocks.begin_row[real] * 2 + 1, blocks.from_row[real] * 2)
        position[~seen & (blocks.from_row[real] == 0)] = BEFORE
        columns: dict[str, NDArray[Any]] = {
            "block": real, "size": blocks.size_bytes[real], "address": blocks.address[real],
            "stream": blocks.stream[real].astype(np.int64), "pool": blocks.pool[real],
        }  # fmt: skip
        self._add(ALLOC, position, **columns)
        ended = blocks.until_row[real] != ALIVE
        end, until = blocks.end_row[real][ended], blocks.until_row[real][ended]
        position = np.where(end != UNSEEN, end * 2 + 1, until * 2)
        self._add(FREE, position, **{name: values[ended] for name, values in columns.items()})

    def _steps(self) -> None:
        ends = self.store.tables["step"]["t1_ns"]
        self._add(STEP_END, np.searchsorted(self.store.tables["alloc"]["t_ns"], ends, side="right") * 2)

    # -- from the trace of a CUDA allocator ------------------------------------------------------

    def _is(self, *names: str) -> NDArray[np.bool_]:
        action = self.store.tables["trace"]["action"]
        ids = [index for index in np.unique(action) if self.store.string(int(index)) in names]
        return np.isin(action[self.rows], ids)

    def _at(self, rows: Longs) -> dict[str, NDArray[Any]]:
        trace = self.store.tables["trace"]
        return {
            "position": trace["alloc_row"][rows] * 2, "event": rows, "address": trace["address"][rows],
            "size": trace["size_bytes"][rows], "stream": trace["stream"][rows].astype(np.int64),
            "pool": trace["pool"][rows].astype(np.int64),
        }  # fmt: skip

    def _waiting_frees(self) -> None:
        """Add the frees that were asked for before something else happened."""
        blocks, rows = self.blocks, self.rows[self._is("free_requested")]
        asked = self._at(rows)
        row = asked["position"] // 2
        mine = np.flatnonzero(blocks.device == self.device)
        addresses, which = np.unique(blocks.address[mine], return_inverse=True)
        span = len(self.store.tables["alloc"]) + 2
        key = which.ravel() * span + blocks.from_row[mine]
        order = np.argsort(key, kind="stable")
        wanted = np.searchsorted(addresses, asked["address"])
        at = np.searchsorted(key[order], wanted * span + row, side="right") - 1
        block = mine[order[np.clip(at, 0, None)]] if len(mine) else np.empty(0, np.int64)
        if not len(block):
            return
        waits = (at >= 0) & (blocks.address[block] == asked["address"]) & (blocks.from_row[block] <= row)
        waits &= blocks.until_row[block] > row + 1
        waits &= blocks.size_bytes[block] < UNREAL_BYTES
        asked = {name: values[waits] for name, values in asked.items()}
        self._add(FREE_REQUESTED, asked.pop("position"), block=block[waits], **asked)

    def _of_the_allocator(self) -> None:
        got = self._at(self.rows[self._is(*_GETS)])
        self._add(GOT_SEGMENT, got.pop("position"), **got)
        given = np.flatnonzero(self._is(*_GIVES_BACK))
        forced = self._forced(given)
        back = self._at(self.rows[given[forced]])
        self._add(RELEASED, back.pop("position"), **back)
        asked_for = self._at(self.rows[given[~forced]])
        position, first = np.unique(asked_for["position"], return_index=True)
        self._add(EMPTY_CACHE, position, event=asked_for["event"][first])
        failed = self._at(self.rows[self._is("oom")])
        number = np.full(len(failed["size"]), int(self.blocks.size_bytes.size))
        possible = (failed["size"] > 0) & (failed["size"] < UNREAL_BYTES)
        failed = {name: values[possible] for name, values in failed.items()}
        self._add(FAILED_ALLOC, failed.pop("position"), block=number[possible], **failed)

    def _forced(self, given: Longs) -> NDArray[np.bool_]:
        """Return which segments went since the device was full: a request from the same line was next."""
        stack = self.store.tables["trace"]["stack"][self.rows]
        asks = np.flatnonzero(self._is(*_GETS, "oom"))
        other = np.flatnonzero(self._is("alloc", "free_requested"))
        if not len(asks):
            return np.zeros(len(given), bool)
        at = np.clip(np.searchsorted(asks, given), 0, len(asks) - 1)
        next_other = np.append(other, len(stack))[np.searchsorted(other, given)]
        after = asks[at]
        found = (after > given) & (after < next_other)
        found &= (stack[after] == stack[given]) & (stack[given] != 0)
        return np.asarray(found, bool)
