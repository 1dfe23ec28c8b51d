"""Every block that a session knows, from its allocation to its free, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.lifetimes import ALLOCATED, FREED, LISTED, Pairs, pair_lifetimes
from tensorscope.models.frozen_store import StoreLike
from tensorscope.models.session_store import Record

Longs = NDArray[np.int64]

ALIVE = np.iinfo(np.int64).max
"""End of a block that is not known to have been freed."""
UNSEEN = -1
"""Row of a begin or an end that no event tells of."""


@dataclass(frozen=True, eq=False)
class Allocations:
    """One entry a block, in the order in which they came. Times are ns since the session's origin.

    Attributes
    ----------
    begin_row, end_row
        Rows of the ``alloc`` table; `UNSEEN` where the block was listed by a baseline or its begin
        was never seen, or where it was not freed, or went away in a gap of the recording.
    begin_ns, end_ns
        A block whose begin was not seen begins with the first event of all; `ALIVE` if not ended.
    from_row, until_row
        The block is alive just before exactly the rows ``from_row <= row < until_row``, the row
        after the last among them; `ALIVE` where it did not end.
    owner
        One entry a row of the ``alloc`` table: index of the block it allocates or frees.
    listed
        For each baseline, the index of each block it lists.
    """

    address: NDArray[np.uint64]
    size_bytes: Longs
    category: NDArray[np.uint8]
    device: NDArray[np.int16]
    module: Longs
    name: Longs
    stack: Longs
    stream: Longs
    pool: Longs
    step: Longs
    phase: Longs
    begin_row: Longs
    end_row: Longs
    begin_ns: Longs
    end_ns: Longs
    from_row: Longs
    until_row: Longs
    owner: Longs
    listed: tuple[Longs, ...]

    def __len__(self) -> int:
        return len(self.address)

    def alive_before(self, row: int) -> Longs:
        """Return the indices of the blocks alive just before row `row` of the ``alloc`` table."""
        return np.flatnonzero((self.from_row <= row) & (self.until_row > row))


class AllocationIndex:
    """Keeps the `Allocations` of a store, made again when more events came. One thread at a time."""

    def __init__(self, store: StoreLike) -> None:
        self._store = store
        self._key = (-1, -1)
        self._found: Allocations | None = None

    def get(self) -> Allocations:
        """Return every block; about 0.2 s for a million events, nothing where nothing came."""
        key = len(self._store.tables["alloc"]), len(self._store.records("baseline"))
        if self._found is None or key != self._key:
            self._key, self._found = key, find_allocations(self._store)
        return self._found


def find_allocations(store: StoreLike) -> Allocations:
    """Pair all that `store` holds now."""
    items = _Items(store)
    pairs = pair_lifetimes(items.address, items.size_bytes, items.device, items.kind)
    return _Builder(store, items, pairs).allocations()


class _Items:
    """Events and listed blocks in one order; `row` is the ``alloc`` row, or -1 for a listed block."""

    def __init__(self, store: StoreLike) -> None:
        table, records = store.tables["alloc"], store.records("baseline")
        rows, sizes = len(table), [len(record.columns["address"]) for record in records]
        at = np.repeat([record.rows["alloc"] for record in records], sizes).astype(np.int64)
        place = np.concatenate([at * 2, np.arange(rows) * 2 + 1])
        self.order = np.argsort(place, kind="stable")
        self.row = np.concatenate([np.full(len(at), UNSEEN), np.arange(rows)])[self.order]
        self.next_row = np.concatenate([at, np.arange(rows)])[self.order]
        self._table, self._records = table, records
        self.address = self.column("address", "address")
        delta = self.column("delta_bytes", "size_bytes")
        self.size_bytes = delta
        self.device = self.column("device", "device")
        kind = np.where(delta >= 0, ALLOCATED, FREED).astype(np.uint8)
        kind[self.row < 0] = LISTED
        self.kind = kind
        clock = np.repeat([record.clock_ns for record in records], sizes).astype(np.int64)
        self.t_ns = np.concatenate([clock, table["t_ns"]])[self.order] - store.origin_ns

    def column(self, name: str, listed_name: str | None, missing: int = 0) -> NDArray[Any]:
        """Return a column of the ``alloc`` table beside the one of the baselines, in order."""
        values = self._table[name]
        parts = [_listed(record, listed_name, missing, values.dtype) for record in self._records]
        return np.concatenate([*parts, values])[self.order]


def _listed(record: Record, name: str | None, missing: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    count = len(record.columns["address"])
    column = record.columns.get(name) if name is not None else None
    return np.full(count, missing, dtype) if column is None else column.astype(dtype)


class _Builder:
    """Turns pairs of items into columns of blocks."""

    def __init__(self, store: StoreLike, items: _Items, pairs: Pairs) -> None:
        self._store, self._items, self._pairs = store, items, pairs

    def allocations(self) -> Allocations:
        items, begin, end = self._items, self._pairs.begin, self._pairs.end
        ended = end >= 0
        last = np.where(ended, end, 0)
        after = items.next_row + (items.row != UNSEEN)
        from_row, until_row = after[begin], np.where(ended, after[last], ALIVE)
        begin_row, end_row = items.row[begin], np.where(ended, items.row[last], UNSEEN)
        begin_ns, end_ns = items.t_ns[begin], np.where(ended, items.t_ns[last], ALIVE)
        only_freed = items.kind[begin] == FREED
        if len(begin):
            begin_ns = np.where(only_freed, items.t_ns[0], begin_ns)
        from_row = np.where(only_freed, 0, from_row)
        begin_row = np.where(only_freed, UNSEEN, begin_row)
        owner = np.empty(len(self._store.tables["alloc"]), np.int64)
        owner[items.row[items.row >= 0]] = self._pairs.owner[items.row >= 0]
        self._lose(from_row, until_row, end_row, end_ns)
        column = self._column
        return Allocations(
            address=items.address[begin], size_bytes=np.abs(items.size_bytes[begin]),
            category=column("category", "category"), device=items.device[begin],
            module=column("module", None), name=self._names(), stack=column("stack", "stack"),
            stream=column("stream", "stream"), pool=column("pool", "pool"),
            step=column("step", None, UNSEEN), phase=column("phase", None), begin_row=begin_row,
            end_row=end_row, begin_ns=begin_ns, end_ns=end_ns, from_row=from_row, until_row=until_row,
            owner=owner, listed=self._listed(),
        )  # fmt: skip

    def _column(self, name: str, listed_name: str | None, missing: int = 0) -> NDArray[Any]:
        values = self._items.column(name, listed_name, missing)[self._pairs.begin]
        return values if values.dtype.itemsize <= 2 else values.astype(np.int64)

    def _names(self) -> Longs:
        """Return the string id that the newest baseline gives each block, 0 if none names it."""
        items, names = self._items, np.zeros(len(self._pairs), np.int64)
        records = self._store.records("baseline")
        given = np.concatenate(
            [*(r.columns["name"].astype(np.int64) for r in records), np.empty(0, np.int64)]
        )
        listed = np.flatnonzero(items.row < 0)
        names[self._pairs.owner[listed]] = given[items.order[listed]]
        return names

    def _listed(self) -> tuple[Longs, ...]:
        """Return the blocks of each baseline, in its own order."""
        items = self._items
        at = np.flatnonzero(items.row < 0)
        found = np.empty(len(at), np.int64)
        found[items.order[at]] = self._pairs.owner[at]
        sizes = [len(record.columns["address"]) for record in self._store.records("baseline")]
        return tuple(np.split(found, np.cumsum(sizes)[:-1])) if sizes else ()

    def _lose(self, from_row: Longs, until_row: Longs, end_row: Longs, end_ns: Longs) -> None:
        """End, at each baseline, the blocks that it does not list: they went away unseen."""
        for record in self._store.records("baseline"):
            row = record.rows["alloc"]
            crossing = np.flatnonzero((from_row <= row) & (until_row > row))
            begin = self._items.address[self._pairs.begin[crossing]]
            lost = crossing[~np.isin(begin, record.columns["address"])]
            until_row[lost], end_row[lost] = row, UNSEEN
            end_ns[lost] = record.clock_ns - self._store.origin_ns
