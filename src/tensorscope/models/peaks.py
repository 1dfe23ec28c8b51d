"""Where memory was highest, what it consisted of there, and what lived only for a moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.peaks import distinct_peaks, level_of
from tensorscope.core.schema import CATEGORIES
from tensorscope.models.allocations import ALIVE, Allocations, find_allocations
from tensorscope.models.block_lines import block_lines
from tensorscope.models.frozen_store import StoreLike

Longs = NDArray[np.int64]

PEAKS = 3
DIP_SHARE = 0.05
"""Two peaks are distinct where the total falls by this share of the highest between them."""
TRANSIENT_NS = 1_000_000


@dataclass(frozen=True)
class PeakPart:
    """Blocks of one category, module and line that were alive at a peak."""

    category: str
    module: str
    line: str
    bytes: int
    count: int
    transient_bytes: int
    """Of those, bytes that lived less than `TRANSIENT_NS`."""
    address: int
    """Of the largest block."""
    row: int
    """Row of the ``alloc`` table that allocated it; -1 if it was there before."""


@dataclass(frozen=True)
class Peak:
    """A moment at which the total was highest. `row`: rows of the ``alloc`` table before it."""

    t_ns: int
    step: int
    phase: int
    row: int
    total_bytes: int
    parts: tuple[PeakPart, ...]


@dataclass(frozen=True)
class Peaks:
    """The distinct peaks of a session, highest first.

    Attributes
    ----------
    without_transients_bytes
        How high the highest total would be without any block that lived less than `TRANSIENT_NS`.
    """

    peaks: tuple[Peak, ...]
    without_transients_bytes: int

    @property
    def spike_bytes(self) -> int:
        """How much of the highest peak is owed to what lived only for a moment."""
        return self.peaks[0].total_bytes - self.without_transients_bytes if self.peaks else 0


def find_peaks(store: StoreLike, blocks: Allocations | None = None, device: int | None = None) -> Peaks:
    """Return the peaks of a session; any thread, on a frozen store.

    Sizes are what was asked for, all devices together unless `device` is given.
    """
    blocks = find_allocations(store) if blocks is None else blocks
    mine = np.ones(len(blocks), bool) if device is None else blocks.device == device
    rows = len(blocks.owner)
    size = np.where(mine, blocks.size_bytes, 0)
    total = level_of(blocks.from_row, blocks.until_row, size, rows)
    if not len(blocks) or not total.max():
        return Peaks((), 0)
    brief = _lifetime_ns(blocks) < TRANSIENT_NS
    lasting = level_of(blocks.from_row, blocks.until_row, np.where(brief, 0, size), rows)
    keys, lines = block_lines(store, blocks)
    found = distinct_peaks(total, PEAKS, DIP_SHARE)
    peaks = tuple(_peak(store, blocks, mine, brief, keys, lines, row, int(total[row])) for row in found)
    return Peaks(peaks, int(lasting.max()))


def _lifetime_ns(blocks: Allocations) -> Longs:
    ended = blocks.end_ns < ALIVE
    seen = blocks.begin_row >= 0
    return np.where(ended & seen, np.where(ended, blocks.end_ns, 0) - blocks.begin_ns, ALIVE)


def _peak(
    store: StoreLike, blocks: Allocations, mine: NDArray[np.bool_], brief: NDArray[np.bool_], keys: Longs,
    lines: list[str], row: int, total: int,
) -> Peak:  # fmt: skip
    table = store.tables["alloc"]
    alive = blocks.alive_before(row)
    alive = alive[mine[alive]]
    at = max(0, row - 1)
    known = len(table) > 0
    t_ns = int(table["t_ns"][at]) - store.origin_ns if known else 0
    step, phase = (int(table[name][at]) if known else -1 for name in ("step", "phase"))
    return Peak(t_ns, step, phase, row, total, _parts(store, blocks, alive, brief, keys, lines))


def _parts(
    store: StoreLike,
    blocks: Allocations,
    alive: Longs,
    brief: NDArray[np.bool_],
    keys: Longs,
    lines: list[str],
) -> tuple[PeakPart, ...]:
    place = np.stack([blocks.category[alive].astype(np.int64), blocks.module[alive], keys[alive]], axis=1)
    unique, group = np.unique(place, axis=0, return_inverse=True)
    group = group.ravel()
    size = blocks.size_bytes[alive]
    order = np.lexsort((-size, group))
    largest = alive[order[np.searchsorted(group[order], np.arange(len(unique)))]] if len(unique) else alive
    held = np.bincount(group, weights=size, minlength=len(unique)).astype(np.int64)
    short = np.bincount(group, weights=np.where(brief[alive], size, 0), minlength=len(unique)).astype(
        np.int64
    )
    count = np.bincount(group, minlength=len(unique))
    found = [
        PeakPart(
            CATEGORIES[min(int(category), len(CATEGORIES) - 1)], store.string(int(module)), lines[int(line)],
            int(held[i]), int(count[i]), int(short[i]), int(blocks.address[largest[i]]),
            int(blocks.begin_row[largest[i]]),
        )
        for i, (category, module, line) in enumerate(unique.tolist())
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda part: -part.bytes))
