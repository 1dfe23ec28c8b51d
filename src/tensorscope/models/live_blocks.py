"""Which blocks are alive at any event: where the bytes are at a moment, block by block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorscope.core.schema import CATEGORIES
from tensorscope.models.session_store import Record, SessionStore
from tensorscope.models.stack_labels import StackLabels

Longs = NDArray[np.int64]

CHUNK_ROWS = 32_768
MOST = 200
"""Blocks that a list of the largest holds at most."""


@dataclass(frozen=True, eq=False)
class _State:
    """Blocks alive before row `row`; an id is an ``alloc`` row, or ``-1 - index`` in `record`."""

    row: int
    addresses: NDArray[np.uint64]
    ids: Longs
    record: Record | None


@dataclass(frozen=True)
class AliveBlock:
    """A block that is alive at the moment asked for. `row` -1: it is of the baseline."""

    address: int
    size_bytes: int
    category: int
    device: int
    row: int
    label: str
    step: int
    phase: int


class LiveBlocks:
    """States at checkpoints, and the way from a checkpoint to any row. GUI thread.

    Checkpoints lie further apart the more is alive, so that all of them together never hold more
    than a small multiple of the events themselves.
    """

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._states = [_State(0, np.empty(0, np.uint64), np.empty(0, np.int64), None)]
        self._baselines = 0
        self._stacks = StackLabels(store)

    def update(self, rows: int) -> None:
        """Make the checkpoints up to row `rows` of the ``alloc`` table; a step costs a few ms."""
        records = self._store.records("baseline")
        while True:
            state = self._states[-1]
            pending = records[self._baselines] if self._baselines < len(records) else None
            limit = min(rows, pending.rows["alloc"]) if pending is not None else rows
            due = state.row + max(CHUNK_ROWS, 4 * len(state.ids))
            if pending is not None and pending.rows["alloc"] <= min(rows, due):
                self._states.append(_of_baseline(pending))
                self._baselines += 1
            elif due <= limit:
                self._states.append(self._advanced(state, due))
            else:
                return

    def _alive(self, row: int) -> _State:
        at = max(i for i, state in enumerate(self._states) if state.row <= row)
        return self._advanced(self._states[at], row)

    def _advanced(self, state: _State, row: int) -> _State:
        table = self._store.tables["alloc"]
        span = slice(state.row, row)
        addresses = np.concatenate([state.addresses, table["address"][span]])
        ids = np.concatenate([state.ids, np.arange(state.row, row, dtype=np.int64)])
        born = np.concatenate([np.ones(len(state.ids), bool), table["delta_bytes"][span] >= 0])
        unique, first = np.unique(addresses[::-1], return_index=True)
        last = len(addresses) - 1 - first  # the last event of an address decides
        alive = born[last]
        return _State(row, unique[alive], ids[last[alive]], state.record)

    def largest(self, row: int, device: int | None = None) -> tuple[list[AliveBlock], int]:
        """Return the `MOST` largest blocks alive before `row`, largest first, and how many there are."""
        state = self._alive(row)
        sizes, devices = (
            self._column(state, "delta_bytes", "size_bytes"),
            self._column(state, "device", "device"),
        )
        mine = np.arange(len(sizes)) if device is None else np.flatnonzero(devices == device)
        top = mine[np.argsort(-sizes[mine], kind="stable")[:MOST]]
        return [self._block(state, int(at)) for at in top], len(mine)

    def _column(self, state: _State, name: str, baseline_name: str) -> Longs:
        values = np.zeros(len(state.ids), np.int64)
        recorded = state.ids >= 0
        values[recorded] = self._store.tables["alloc"][name][state.ids[recorded]]
        if state.record is not None:
            values[~recorded] = state.record.columns[baseline_name][-1 - state.ids[~recorded]]
        return values

    def _block(self, state: _State, at: int) -> AliveBlock:
        store, row, address = self._store, int(state.ids[at]), int(state.addresses[at])
        if row >= 0:
            table = store.tables["alloc"]
            label = store.string(int(table["module"][row])) or self._stacks.label(int(table["stack"][row]))
            size, category = int(table["delta_bytes"][row]), int(table["category"][row])
            device, step, phase = (int(table[name][row]) for name in ("device", "step", "phase"))
        else:
            assert state.record is not None
            columns, index = state.record.columns, -1 - row
            label = store.string(int(columns["name"][index]))
            if not label and "stack" in columns:
                label = self._stacks.label(int(columns["stack"][index]))
            size, category = int(columns["size_bytes"][index]), int(columns["category"][index])
            device, step, phase, row = int(columns["device"][index]), -1, -1, -1
        category = min(category, len(CATEGORIES) - 1)
        return AliveBlock(address, size, category, device, row, label, step, phase)


def _of_baseline(record: Record) -> _State:
    addresses = record.columns["address"]
    order = np.argsort(addresses, kind="stable")
    ids = -1 - order.astype(np.int64)
    return _State(record.rows["alloc"], addresses[order].astype(np.uint64), ids, record)
