"""What is known of one block beyond its lifetime: its stack, the tensors in it, and who saved it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorscope.models.block_lifetime import BlockLifetime
from tensorscope.models.frozen_store import StoreLike
from tensorscope.models.session_store import Record
from tensorscope.models.stack_labels import StackFrame, StackLabels

MAX_ROWS = 8


@dataclass(frozen=True)
class TensorThere:
    """A tensor that lies in the block, as a ``tensors`` record tells of it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    step: int


@dataclass(frozen=True)
class BlockStory:
    """Attributes are empty where nothing was recorded; `tensors` and `saved_by` are cut at `MAX_ROWS`.

    Attributes
    ----------
    saved_by
        (node name, module) of the grad_fn nodes that saved the storage for backward.
    stream, pool
        -1 and "" where they are unknown or the default.
    """

    frames: tuple[StackFrame, ...]
    tensors: tuple[TensorThere, ...]
    saved_by: tuple[tuple[str, str], ...]
    stream: int
    pool: str
    source: str


def tell_block(store: StoreLike, block: BlockLifetime) -> BlockStory:
    """Return what the session knows of `block`."""
    table, row = store.tables["alloc"], block.begin.row if block.begin is not None else -1
    stack = int(table["stack"][row]) if row >= 0 else _listed_stack(store, block)
    step = block.begin.step if block.begin is not None else -1
    return BlockStory(
        tuple(StackLabels(store).frames(stack)), _tensors(store, block, step), _saved_by(store, block, step),
        int(table["stream"][row]) if row >= 0 else -1,
        store.string(int(table["pool"][row])) if row >= 0 else "", _source(store, block, row),
    )  # fmt: skip


def _listed_stack(store: StoreLike, block: BlockLifetime) -> int:
    for record in store.records("baseline"):
        if "stack" in record.columns:
            found = np.flatnonzero(record.columns["address"] == block.address)
            if len(found):
                return int(record.columns["stack"][found[0]])
    return 0


def _record_of(records: list[Record], block: BlockLifetime, step: int) -> Record | None:
    """Return the record of the step that made the block; for what lasts, the newest."""
    same = [record for record in records if record.step == step]
    if same:
        return same[-1]
    lasting = block.end is None or (block.end.step > step >= 0)
    return records[-1] if records and lasting else None


def _tensors(store: StoreLike, block: BlockLifetime, step: int) -> tuple[TensorThere, ...]:
    record = _record_of(store.records("tensors"), block, step)
    if record is None:
        return ()
    columns = record.columns
    ends = np.cumsum(columns["ndim"].astype(np.int64))
    found = []
    for row in np.flatnonzero(columns["storage"] == block.address)[:MAX_ROWS].tolist():
        sizes = columns["sizes_elems"][int(ends[row]) - int(columns["ndim"][row]) : int(ends[row])]
        name, dtype = (store.string(int(columns[key][row])) for key in ("name", "dtype"))
        found.append(TensorThere(name, dtype, tuple(sizes.tolist()), record.step))
    return tuple(found)


def _saved_by(store: StoreLike, block: BlockLifetime, step: int) -> tuple[tuple[str, str], ...]:
    record = _record_of(store.records("graph"), block, step)
    if record is None:
        return ()
    columns = record.columns
    nodes = np.unique(columns["saved_node"][columns["saved_storage"] == block.address])[:MAX_ROWS]
    return tuple(
        (store.string(int(columns["node_name"][node])), store.string(int(columns["node_module"][node])))
        for node in nodes.tolist()
    )


def _source(store: StoreLike, block: BlockLifetime, row: int) -> str:
    """Return the line of the operator that allocated the block, where operators were listed in its step."""
    if row < 0:
        return ""
    table = store.tables["alloc"]
    step, at = int(table["step"][row]), int(table["t_ns"][row])
    for record in store.records("ops"):
        if record.step == step:
            times = record.columns["t_ns"]
            order = np.argsort(times, kind="stable")
            place = int(np.searchsorted(times[order], at, side="right")) - 1
            if place >= 0:
                op = int(order[place])
                line = store.string(int(record.columns["source"][op]))
                name = store.string(int(record.columns["op"][op]))
                return f"{line} {name}".strip()
    return ""
