"""Live bytes by module, phase, stack, stream, device or pool instead of by category."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.live_bytes import LiveBytes
from tensorscope.core.schema import PHASES
from tensorscope.models.allocations import UNSEEN, Allocations
from tensorscope.models.frozen_store import StoreLike
from tensorscope.models.group_tail import GroupTail
from tensorscope.models.stack_labels import StackLabels

Longs = NDArray[np.int64]

CATEGORY = "category"
GROUPS = (CATEGORY, "module", "phase", "stack", "stream", "device", "pool")
MAX_SERIES = 32
"""With all that does not get a series of its own in the last one."""
_MOMENTS = 16
ANY_DEPTH = 0


@dataclass(frozen=True, eq=False)
class Grouped:
    """Live bytes in series.

    Attributes
    ----------
    group
        One of `GROUPS`, and not ``category``.
    labels
        One a series, largest first; raw names (module paths, ``phase`` names, ...), "" for what has
        none. What is left over has `others` set, and is the last.
    series
        One entry a block: its series.
    tail
        What takes in the events that came since.
    """

    group: str
    depth: int
    labels: tuple[str, ...]
    others: int
    live: LiveBytes
    series: NDArray[np.uint8]
    tail: GroupTail

    @property
    def rows(self) -> int:
        """How many rows of the ``alloc`` table are in it."""
        return self.tail.rows


def group_blocks(
    store: StoreLike, blocks: Allocations, group: str, device: int | None = None, depth: int = ANY_DEPTH
) -> Grouped:
    """Return the live bytes of `store` in series; any thread, on a frozen store.

    Parameters
    ----------
    device
        Only blocks of this device; None for all.
    depth
        For modules: how many parts of the path count; `ANY_DEPTH` for all.
    """
    keys, labels = _KEYS[group](store, blocks, depth)
    mine = np.ones(len(blocks), bool) if device is None else blocks.device == device
    rank = _ranked(keys, len(labels), blocks, mine)
    shown = rank[: MAX_SERIES if len(rank) <= MAX_SERIES else MAX_SERIES - 1]
    others = len(rank) - len(shown)
    count = len(shown) + (others > 0)
    series_of_key = np.full(max(1, len(labels)), max(0, count - 1), np.int64)
    series_of_key[shown] = np.arange(len(shown))
    series = series_of_key[keys] if len(keys) else keys
    live = _live(store, blocks, series, max(1, count), mine)
    names = [labels[key] for key in shown.tolist()] + [""] * (others > 0)
    tail = GroupTail(live, group, _label_of(group, depth), device)
    tail.begin(blocks, series, names, others > 0)
    return Grouped(group, depth, tuple(names) or ("",), others, live, series.astype(np.uint8), tail)


def _ranked(keys: Longs, count: int, blocks: Allocations, mine: NDArray[np.bool_]) -> Longs:
    """Return the keys that own anything, by the most that they hold at any of a few high moments."""
    most = np.zeros(count, np.int64)
    present = np.bincount(keys[mine], minlength=count)[:count] > 0 if len(keys) else np.zeros(count, bool)
    for row in _high_rows(blocks, mine):
        at = np.flatnonzero(mine & (blocks.from_row <= row) & (blocks.until_row > row))
        held = np.bincount(keys[at], weights=blocks.size_bytes[at], minlength=count)[:count]
        most = np.maximum(most, held.astype(np.int64))
    order = np.argsort(-most, kind="stable")
    ranked: Longs = order[present[order]]
    return ranked


def _high_rows(blocks: Allocations, mine: NDArray[np.bool_]) -> list[int]:
    """Return the rows after the highest total of each of a few equal parts of the recording."""
    rows = len(blocks.owner)
    size = np.where(mine, blocks.size_bytes, 0)
    change = np.zeros(rows + 1, np.int64)
    np.add.at(change, np.minimum(blocks.from_row, rows), size)
    ended = blocks.until_row <= rows
    np.subtract.at(change, blocks.until_row[ended], size[ended])
    total = np.cumsum(change)
    edges = np.unique(np.linspace(0, rows + 1, _MOMENTS + 1).astype(int))
    return [int(a + np.argmax(total[a:b])) for a, b in pairwise(edges.tolist())]


def _live(
    store: StoreLike, blocks: Allocations, series: Longs, count: int, mine: NDArray[np.bool_]
) -> LiveBytes:
    """Play events and baselines in their order."""
    table, records = store.tables["alloc"], store.records("baseline")
    live, done = LiveBytes(count), 0
    live.reserve(len(table) + len(records))

    def play(stop: int) -> None:
        rows = np.arange(done, stop, dtype=np.int64)
        owner = blocks.owner[done:stop]
        if not mine.all():
            rows, owner = rows[mine[owner]], owner[mine[owner]]
        times = table["t_ns"][rows] - store.origin_ns
        live.append(times, table["delta_bytes"][rows], series[owner], rows)

    for record, listed in zip(records, blocks.listed, strict=True):
        play(record.rows["alloc"])
        done = record.rows["alloc"]
        kept = mine[listed]
        sizes = record.columns["size_bytes"][kept]
        held = np.bincount(series[listed[kept]], weights=sizes, minlength=count).astype(np.int64)
        live.start(record.clock_ns - store.origin_ns, held, done)
    play(len(table))
    return live


Keys = tuple[Longs, list[str]]


def _of_strings(store: StoreLike, ids: Longs, shorten: Callable[[str], str] = lambda name: name) -> Keys:
    """Return one key a different text, for string ids."""
    unique, inverse = np.unique(ids, return_inverse=True)
    known: dict[str, int] = {}
    key = [known.setdefault(shorten(store.string(int(one))), len(known)) for one in unique]
    return np.array(key, np.int64)[inverse], list(known)


def _modules(store: StoreLike, blocks: Allocations, depth: int) -> Keys:
    """Return the module that made each block; of what a baseline lists, the one that its name tells of."""
    named = (blocks.module == 0) & (blocks.name != 0) & (blocks.begin_row == UNSEEN)
    by_module, modules = _of_strings(store, blocks.module, lambda path: _cut(path, depth))
    by_name, owners = _of_strings(store, blocks.name, lambda name: _cut(_owner_of(name), depth))
    labels = {label: index for index, label in enumerate(modules)}
    moved = np.array([labels.setdefault(label, len(labels)) for label in owners], np.int64)
    return np.where(named, moved[by_name], by_module), list(labels)


def _owner_of(name: str) -> str:
    """Return the module of ``a.weight``, ``a.weight.grad`` or ``adam.exp_avg[a.weight]``."""
    inner = name[name.index("[") + 1 : -1] if name.endswith("]") and "[" in name else name
    return inner.removesuffix(".grad").rpartition(".")[0]


def _cut(path: str, depth: int) -> str:
    return path if depth == ANY_DEPTH else ".".join(path.split(".")[:depth])


def _phases(store: StoreLike, blocks: Allocations, depth: int) -> Keys:
    seen = np.minimum(blocks.phase, len(PHASES) - 1)
    return np.where(blocks.begin_row == UNSEEN, len(PHASES), seen), [*PHASES, "before"]


def _stacks(store: StoreLike, blocks: Allocations, depth: int) -> Keys:
    names = StackLabels(store)
    unique, inverse = np.unique(blocks.stack, return_inverse=True)
    known: dict[str, int] = {}
    key = [known.setdefault(names.label(int(stack)), len(known)) for stack in unique]
    return np.array(key, np.int64)[inverse], list(known)


def _numbers(values: NDArray[np.integer]) -> Keys:
    unique, inverse = np.unique(values, return_inverse=True)
    return inverse.astype(np.int64), [str(int(one)) for one in unique]


def _label_of(group: str, depth: int) -> Callable[[StoreLike, int], str]:
    """Return what tells the label of one value of a grouping's column, as `_KEYS` do of all."""
    labels: dict[str, Callable[[StoreLike, int], str]] = {
        "module": lambda store, value: _cut(store.string(value), depth),
        "phase": lambda store, value: PHASES[min(value, len(PHASES) - 1)],
        "stack": lambda store, value: StackLabels(store).label(value),
        "pool": lambda store, value: store.string(value),
    }
    return labels.get(group, lambda store, value: str(value))


_KEYS: dict[str, Callable[[StoreLike, Allocations, int], Keys]] = {
    "module": _modules,
    "phase": _phases,
    "stack": _stacks,
    "stream": lambda store, blocks, depth: _numbers(blocks.stream),
    "device": lambda store, blocks, depth: _numbers(blocks.device),
    "pool": lambda store, blocks, depth: _of_strings(store, blocks.pool),
}
