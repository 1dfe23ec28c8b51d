"""A CUDA allocator's trace and final state as the baseline and the ``alloc`` rows of a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.lifetimes import ALLOCATED, FREED, NONE, Pairs, pair_lifetimes

Columns = dict[str, NDArray[Any]]
Longs = NDArray[np.int64]

BLOCK = ("address", "size_bytes", "device", "stream", "pool", "stack", "category")
"""Columns that say what a block is; trace and final state both have them."""


@dataclass(frozen=True, eq=False)
class AllocRows:
    """What a session is told of a trace.

    Attributes
    ----------
    baseline
        `BLOCK` columns of every block alive before the first event.
    rows
        `BLOCK` columns, ``delta_bytes``, ``total_bytes`` (of the device), ``event`` (row of the
        trace it happened at; the number of events for what was only seen in the final state) and
        ``inferred`` (nobody reported it, but it must have happened).
    alloc_row
        One entry an event: how many rows come before it.
    unseen
        Blocks of the baseline that are known by their free alone.
    missed_frees, missed_allocs
        Rows that had to be inferred.
    """

    baseline: Columns
    rows: Columns
    alloc_row: Longs
    unseen: int
    missed_frees: int
    missed_allocs: int


def alloc_rows(events: Columns, kind: NDArray[np.int8], final: Columns | None) -> AllocRows:
    """Pair the events, and make them add up with the final state.

    Parameters
    ----------
    events
        `BLOCK` columns, one entry an event of the trace.
    kind
        `ALLOCATED`, `FREED` or `NONE` for events that move no block.
    final
        `BLOCK` columns of the blocks that live at the end; None where the file does not say.
    """
    at = np.flatnonzero(kind >= 0)
    taken = {name: events[name][at] for name in BLOCK}
    pairs = pair_lifetimes(taken["address"], taken["size_bytes"], taken["device"], kind[at].astype(np.uint8))
    return _Rows(taken, at, kind[at], pairs, len(kind), final).result()


class _Rows:
    def __init__(
        self, taken: Columns, at: Longs, kind: NDArray[np.int8], pairs: Pairs, events: int,
        final: Columns | None,
    ) -> None:  # fmt: skip
        self.taken, self.at, self.kind, self.pairs, self.events = taken, at, kind, pairs, events
        self.final = final
        self.orphan = kind[pairs.begin] == FREED
        self.alive = pairs.end == NONE

    def result(self) -> AllocRows:
        begin = self.pairs.begin
        lost, listed, late = self._against_final()
        baseline = _joined(self._blocks(begin[self.orphan]), self._final(listed))
        replaced = np.flatnonzero(~self.alive & ~self.orphan)
        replaced = replaced[self.kind[self.pairs.end[replaced]] != FREED]
        parts = [
            self._event_rows(),
            self._inferred(self._blocks(begin[replaced]), self.at[self.pairs.end[replaced]], -1),
            self._inferred(self._blocks(begin[lost]), np.full(len(lost), self.events), -1),
            self._inferred(self._final(late), np.full(len(late), self.events), 1),
        ]
        rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        order = np.lexsort((~rows["inferred"], rows["event"]))  # an inferred free makes room first
        rows = {name: values[order] for name, values in rows.items()}
        rows["total_bytes"] = _totals(baseline, rows)
        before = np.searchsorted(rows["event"], np.arange(self.events), side="left")
        before += np.bincount(self.at[self.pairs.end[replaced]], minlength=self.events)[: self.events]
        return AllocRows(
            baseline, rows, before.astype(np.int64), int(self.orphan.sum()),
            len(replaced) + len(lost), len(late),
        )  # fmt: skip

    def _blocks(self, items: Longs) -> Columns:
        return {name: self.taken[name][items] for name in BLOCK}

    def _final(self, rows: Longs) -> Columns:
        if self.final is None:
            return self._blocks(np.empty(0, np.int64))
        return {name: self.final[name][rows] for name in BLOCK}

    def _event_rows(self) -> Columns:
        blocks = self._blocks(self.pairs.begin[self.pairs.owner])
        allocates = self.kind == ALLOCATED
        blocks["stack"] = self.taken["stack"]
        blocks["delta_bytes"] = np.where(allocates, blocks["size_bytes"], -blocks["size_bytes"])
        return blocks | {"event": self.at, "inferred": np.zeros(len(self.at), bool)}

    @staticmethod
    def _inferred(blocks: Columns, event: Longs, sign: int) -> Columns:
        count = len(event)
        delta = sign * blocks["size_bytes"]
        return blocks | {"delta_bytes": delta, "event": event, "inferred": np.ones(count, bool)}

    def _against_final(self) -> tuple[Longs, Longs, Longs]:
        """Return lifetimes that must have ended, and final blocks: those never seen, those seen to end."""
        living = np.flatnonzero(self.alive)
        if self.final is None:
            return living[:0], living[:0], living[:0]
        mine = _keys(self._blocks(self.pairs.begin[living]))
        theirs = _keys(self.final)
        lost = living[~np.isin(mine, theirs)]
        missing = np.flatnonzero(~np.isin(theirs, mine))
        touched = np.isin(theirs[missing], _keys(self.taken))
        return lost, missing[~touched], missing[touched]


def _keys(columns: Columns) -> NDArray[np.uint64]:
    """Return one number a block: its address, with the device in the bits that no address uses."""
    device = (columns["device"].astype(np.int64) + 1).astype(np.uint64)
    return columns["address"].astype(np.uint64) ^ (device << np.uint64(58))


def _joined(first: Columns, second: Columns) -> Columns:
    return {name: np.concatenate([first[name], second[name].astype(first[name].dtype)]) for name in BLOCK}


def _totals(baseline: Columns, rows: Columns) -> Longs:
    """Return the live bytes of each row's device after it."""
    total = np.zeros(len(rows["event"]), np.int64)
    for device in np.unique(rows["device"]):
        mine = rows["device"] == device
        start = baseline["size_bytes"][baseline["device"] == device].sum()
        total[mine] = start + np.cumsum(rows["delta_bytes"][mine])
    return total
