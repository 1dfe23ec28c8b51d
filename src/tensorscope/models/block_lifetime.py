"""One memory block from its allocation to its free, found from either end or by its address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.core.schema import CATEGORIES
from tensorscope.models.session_store import Record, SessionStore

CHUNK_ROWS = 65_536


@dataclass(frozen=True)
class BlockEnd:
    """Where a block began or ended. Time is ns since the session's origin."""

    row: int
    t_ns: int
    step: int
    phase: int


@dataclass(frozen=True)
class BlockLifetime:
    """A block of the allocator.

    Attributes
    ----------
    begin
        Its allocation; None: it was there before the recorder looked (baseline).
    end
        Its free; None: alive, as far as is known.
    lost_t_ns
        Where nothing more is known of it (a gap in the recording), -1 if there is no such place.
    """

    address: int
    size_bytes: int
    category: int
    device: int
    module: str
    name: str
    begin: BlockEnd | None
    end: BlockEnd | None
    lost_t_ns: int = -1


def lifetime_of_row(store: SessionStore, row: int) -> BlockLifetime:
    """Return the block that row `row` of the ``alloc`` table allocates or frees."""
    table = store.tables["alloc"]
    address, delta = int(table["address"][row]), int(table["delta_bytes"][row])
    if delta >= 0:
        return _from_allocation(store, row)
    begin = _previous(store, address, row, _baseline_row(store, row))
    if begin >= 0:
        return _from_allocation(store, begin)
    name = next((found for r in _baselines_before(store, row) if (found := _named(store, r, address))), "")
    return BlockLifetime(
        address, -delta, int(table["category"][row]), int(table["device"][row]),
        store.string(int(table["module"][row])), name, None, _end(store, row),
    )  # fmt: skip


def lifetime_of_address(store: SessionStore, address: int, t_ns: int) -> BlockLifetime | None:
    """Return the block at `address` that is alive at `t_ns`, else the last one before, else None."""
    table = store.tables["alloc"]
    stop = int(np.searchsorted(table["t_ns"], t_ns + store.origin_ns, side="right"))
    row = _previous(store, address, stop, 0, allocations_only=False)
    records = [r for r in store.records("baseline") if row < r.rows["alloc"] <= stop]
    for record in reversed(records):
        if (found := _in_baseline(store, record, address)) is not None:
            return found
    return lifetime_of_row(store, row) if row >= 0 else None


def _from_allocation(store: SessionStore, row: int) -> BlockLifetime:
    table = store.tables["alloc"]
    address = int(table["address"][row])
    free, lost = _free_after(store, address, row + 1)
    return BlockLifetime(
        address, int(table["delta_bytes"][row]), int(table["category"][row]), int(table["device"][row]),
        store.string(int(table["module"][row])), "", _end(store, row),
        _end(store, free) if free >= 0 else None, lost,
    )  # fmt: skip


def _in_baseline(store: SessionStore, record: Record, address: int) -> BlockLifetime | None:
    at = np.flatnonzero(record.columns["address"] == address)
    if not len(at):
        return None
    free, lost = _free_after(store, address, record.rows["alloc"])
    columns = {name: int(values[at[0]]) for name, values in record.columns.items() if len(values)}
    return BlockLifetime(
        address, columns["size_bytes"], min(columns["category"], len(CATEGORIES) - 1), columns["device"],
        "", store.string(columns["name"]), None, _end(store, free) if free >= 0 else None, lost,
    )  # fmt: skip


def _free_after(store: SessionStore, address: int, row: int) -> tuple[int, int]:
    """Return the row of the next free of `address`, and where the trail is lost (-1: nowhere)."""
    for record in store.records("baseline"):
        if record.rows["alloc"] < row:
            continue
        found = _next(store, address, row, record.rows["alloc"])
        if found >= 0:
            return found, -1
        if not (record.columns["address"] == address).any():
            return -1, record.clock_ns - store.origin_ns
        row = record.rows["alloc"]
    return _next(store, address, row, len(store.tables["alloc"])), -1


def _next(store: SessionStore, address: int, start: int, stop: int) -> int:
    column = store.tables["alloc"]["address"]
    for first in range(start, stop, CHUNK_ROWS):
        found = np.flatnonzero(column[first : min(stop, first + CHUNK_ROWS)] == address)
        if len(found):
            return first + int(found[0])
    return -1


def _previous(store: SessionStore, address: int, stop: int, start: int, allocations_only: bool = True) -> int:
    table = store.tables["alloc"]
    for last in range(stop, start, -CHUNK_ROWS):
        first = max(start, last - CHUNK_ROWS)
        match: NDArray[Any] = table["address"][first:last] == address
        if allocations_only:
            match = match & (table["delta_bytes"][first:last] >= 0)
        found = np.flatnonzero(match)
        if len(found):
            return first + int(found[-1])
    return -1


def _baselines_before(store: SessionStore, row: int) -> list[Record]:
    return [r for r in reversed(store.records("baseline")) if r.rows["alloc"] <= row]


def _baseline_row(store: SessionStore, row: int) -> int:
    """Return the first row that builds on the same baseline as `row`."""
    before = _baselines_before(store, row)
    return before[0].rows["alloc"] if before else 0


def _named(store: SessionStore, record: Record, address: int) -> str:
    at = np.flatnonzero(record.columns["address"] == address)
    return store.string(int(record.columns["name"][at[0]])) if len(at) else ""


def _end(store: SessionStore, row: int) -> BlockEnd:
    table = store.tables["alloc"]
    t_ns = int(table["t_ns"][row]) - store.origin_ns
    return BlockEnd(row, t_ns, int(table["step"][row]), int(table["phase"][row]))
