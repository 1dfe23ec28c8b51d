"""One memory block from its allocation to its free, found from either end or by its address."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tensorscope.core.schema import CATEGORIES
from tensorscope.models.block_names import lasting_names
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
        Its allocation; None: it was there before the recorder looked.
    end
        Its free; None: alive, as far as is known.
    lost_t_ns
        Where its trail is lost in a gap of the recording, -1 if it is not.
    known_rows
        Rows of the ``alloc`` table that were looked at to find its end.
    """

    address: int
    size_bytes: int
    category: int
    device: int
    module: str
    name: str
    begin: BlockEnd | None
    end: BlockEnd | None = None
    lost_t_ns: int = -1
    known_rows: int = 0


def lifetime_of_row(store: SessionStore, row: int) -> BlockLifetime:
    """Return the block that row `row` of the ``alloc`` table allocates or frees."""
    table = store.tables["alloc"]
    address, delta = int(table["address"][row]), int(table["delta_bytes"][row])
    begin = row if delta >= 0 else _allocation_before(store, address, -delta, row)
    at = begin if begin >= 0 else row
    category = int(table["category"][at])
    block = BlockLifetime(
        address, abs(delta), category, int(table["device"][at]),
        store.string(int(table["module"][at])), _name(store, address, abs(delta), category, row),
        _end(store, begin) if begin >= 0 else None,
        end=None if delta >= 0 else _end(store, row), known_rows=row + 1,
    )  # fmt: skip
    return followed(store, block)


def lifetime_of_address(store: SessionStore, address: int, t_ns: int) -> BlockLifetime | None:
    """Return the block at `address` that is alive at `t_ns`, else the last one before, else None."""
    table = store.tables["alloc"]
    stop = int(np.searchsorted(table["t_ns"], t_ns + store.origin_ns, side="right"))
    row = _previous(store, address, 0, stop)
    if row >= 0 and table["delta_bytes"][row] >= 0:
        return lifetime_of_row(store, row)
    for record in reversed(_baselines(store, row + 1, stop)):
        if (at := _row_in(record, address)) >= 0:
            return followed(store, _of_baseline(store, record, at))
    return lifetime_of_row(store, row) if row >= 0 else None


def followed(store: SessionStore, block: BlockLifetime) -> BlockLifetime:
    """Return `block` as it is after more events came; reads only those."""
    rows = len(store.tables["alloc"])
    if block.end is not None or block.lost_t_ns >= 0:
        return block
    start = block.known_rows
    for record in _baselines(store, start, rows):
        row = _next(store, block.address, start, record.rows["alloc"])
        if row >= 0:
            return replace(block, end=_end(store, row), known_rows=row + 1)
        if _row_in(record, block.address, block.size_bytes) < 0:
            return replace(block, lost_t_ns=record.clock_ns - store.origin_ns)
        start = record.rows["alloc"]
    row = _next(store, block.address, start, rows)
    return replace(block, end=_end(store, row) if row >= 0 else None, known_rows=rows)


def _allocation_before(store: SessionStore, address: int, size_bytes: int, row: int) -> int:
    """Return the row that allocated the block freed at `row`, -1 if it was there from the start.

    The search passes a baseline only if the baseline holds the block.
    """
    stop, found = row, -1
    for record in reversed(_baselines(store, 0, row)):
        found = _previous(store, address, record.rows["alloc"], stop)
        if found >= 0 or _row_in(record, address, size_bytes) < 0:
            break
        stop = record.rows["alloc"]
    else:
        found = _previous(store, address, 0, stop)
    # Another size is another block at the same address, which went away unseen in a gap.
    return found if found >= 0 and store.tables["alloc"]["delta_bytes"][found] == size_bytes else -1


def _of_baseline(store: SessionStore, record: Record, at: int) -> BlockLifetime:
    columns = {name: int(values[at]) for name, values in record.columns.items() if len(values) > at}
    address, size = columns["address"], columns["size_bytes"]
    begin = _allocation_before(store, address, size, record.rows["alloc"])
    module = store.string(int(store.tables["alloc"]["module"][begin])) if begin >= 0 else ""
    return BlockLifetime(
        address, size, min(columns["category"], len(CATEGORIES) - 1), columns["device"], module,
        store.string(columns["name"]), _end(store, begin) if begin >= 0 else None,
        known_rows=record.rows["alloc"],
    )  # fmt: skip


def _name(store: SessionStore, address: int, size_bytes: int, category: int, row: int) -> str:
    """Return what the newest baseline before `row`, or else the tensors, call this block; "" if nothing."""
    for record in _baselines(store, 0, row)[-1:]:
        at = _row_in(record, address, size_bytes)
        if at >= 0:
            return store.string(int(record.columns["name"][at]))
    return lasting_names(store).get((address, category), "")


def _baselines(store: SessionStore, first_row: int, last_row: int) -> list[Record]:
    """Return the baselines that came after `first_row` rows and before row `last_row`, oldest first."""
    return [r for r in store.records("baseline") if first_row <= r.rows["alloc"] <= last_row]


def _row_in(record: Record, address: int, size_bytes: int | None = None) -> int:
    match = record.columns["address"] == address
    if size_bytes is not None:
        match = match & (record.columns["size_bytes"] == size_bytes)
    found = np.flatnonzero(match)
    return int(found[0]) if len(found) else -1


def _next(store: SessionStore, address: int, start: int, stop: int) -> int:
    column = store.tables["alloc"]["address"]
    for first in range(start, stop, CHUNK_ROWS):
        found = np.flatnonzero(column[first : min(stop, first + CHUNK_ROWS)] == address)
        if len(found):
            return first + int(found[0])
    return -1


def _previous(store: SessionStore, address: int, start: int, stop: int) -> int:
    column = store.tables["alloc"]["address"]
    for last in range(stop, start, -CHUNK_ROWS):
        first = max(start, last - CHUNK_ROWS)
        found = np.flatnonzero(column[first:last] == address)
        if len(found):
            return first + int(found[-1])
    return -1


def _end(store: SessionStore, row: int) -> BlockEnd:
    table = store.tables["alloc"]
    t_ns = int(table["t_ns"][row]) - store.origin_ns
    return BlockEnd(row, t_ns, int(table["step"][row]), int(table["phase"][row]))
