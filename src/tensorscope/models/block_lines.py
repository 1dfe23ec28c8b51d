"""The line of code that asked for each block: from its stack, or from the operators of a deep step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensorscope.models.allocations import UNSEEN, Allocations
from tensorscope.models.frozen_store import StoreLike
from tensorscope.models.stack_labels import StackLabels

Longs = NDArray[np.int64]


def block_lines(store: StoreLike, blocks: Allocations) -> tuple[Longs, list[str]]:
    """Return a key a block and the text of each key, ``train.py:41 forward``; "" where nobody recorded it."""
    names = StackLabels(store)
    known: dict[str, int] = {"": 0}
    unique, inverse = np.unique(blocks.stack, return_inverse=True)
    key = [known.setdefault(names.label(int(stack)), len(known)) for stack in unique]
    found = np.array(key, np.int64)[inverse] if len(blocks) else np.empty(0, np.int64)
    for record in store.records("ops"):
        times = record.columns["t_ns"]
        order = np.argsort(times, kind="stable")
        made = np.flatnonzero((found == 0) & (blocks.begin_row != UNSEEN) & (blocks.step == record.step))
        at = np.searchsorted(times[order], blocks.begin_ns[made] + store.origin_ns, side="right") - 1
        made, at = made[at >= 0], at[at >= 0]
        source = record.columns["source"][order[at]]
        ids, place = np.unique(source, return_inverse=True)
        keys = np.array([known.setdefault(store.string(int(one)), len(known)) for one in ids], np.int64)
        if len(made):
            found[made] = keys[place]
    return found, list(known)
