"""Finds blocks by what a person types: a module or line, an address, or a size."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorscope.models.allocations import UNSEEN, Allocations
from tensorscope.models.frozen_store import StoreLike
from tensorscope.models.stack_labels import StackLabels

Longs = NDArray[np.int64]

_SIZE = re.compile(r"^(?P<sign><=|>=|[<>=])\s*(?P<number>[\d.,_]+)\s*(?P<unit>[kmgt]?i?b?)$", re.IGNORECASE)
_ADDRESS = re.compile(r"^0x[0-9a-f]+$", re.IGNORECASE)
_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


@dataclass(frozen=True, eq=False)
class Found:
    """Blocks that match, in the order in which they came."""

    text: str
    blocks: Longs
    total_bytes: int
    begin_ns: Longs
    row: Longs
    """Row of the ``alloc`` table that allocated each, `UNSEEN` if it was there before."""


def search_blocks(store: StoreLike, blocks: Allocations, text: str) -> Found:
    """Return the blocks that `text` means; any thread, on a frozen store.

    ``0x7f…`` is an address (of the block or within it), ``> 10 MiB``, ``< 1k`` or ``= 40960000`` a size;
    anything else is looked for in module paths, names and every frame of the stacks.
    """
    text = text.strip()
    if not text:
        at = np.empty(0, np.int64)
    elif _ADDRESS.match(text):
        at = _at_address(blocks, int(text, 16))
    elif match := _SIZE.match(text):
        at = _of_size(blocks, match)
    else:
        at = _named(store, blocks, text.lower())
    row = blocks.begin_row[at]
    return Found(text, at, int(blocks.size_bytes[at].sum()), blocks.begin_ns[at], np.maximum(row, UNSEEN))


def _at_address(blocks: Allocations, address: int) -> Longs:
    wanted = np.uint64(address & (2**64 - 1))
    inside = (blocks.address <= wanted) & (wanted - blocks.address < blocks.size_bytes.astype(np.uint64))
    return np.flatnonzero(inside | (blocks.address == wanted))


def _of_size(blocks: Allocations, match: re.Match[str]) -> Longs:
    unit = match["unit"].lower().rstrip("b").rstrip("i")
    try:
        size = float(match["number"].replace(",", "").replace("_", "")) * 1024 ** _POWER[unit]
    except ValueError:
        return np.empty(0, np.int64)
    sizes = blocks.size_bytes
    test = {
        "<": sizes < size,
        ">": sizes > size,
        "=": sizes == size,
        "<=": sizes <= size,
        ">=": sizes >= size,
    }
    return np.flatnonzero(test[match["sign"]])


def _named(store: StoreLike, blocks: Allocations, text: str) -> Longs:
    """Ask each different module, name and stack once."""
    found = np.zeros(len(blocks), bool)
    for column in (blocks.module, blocks.name):
        unique, inverse = np.unique(column, return_inverse=True)
        found |= np.array([text in store.string(int(one)).lower() for one in unique], bool)[inverse]
    names = StackLabels(store)
    unique, inverse = np.unique(blocks.stack, return_inverse=True)
    in_stack = [
        any(text in f"{f.file}:{f.line} {f.function}".lower() for f in names.frames(int(s))) for s in unique
    ]
    return np.flatnonzero(found | np.array(in_stack, bool)[inverse])
