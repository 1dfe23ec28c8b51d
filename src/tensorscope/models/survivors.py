"""What each step leaves behind, by module, line and category: leaks, and what only looks like one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.survivors import GroupGrowth, group_growth
from tensorscope.core.schema import CATEGORIES
from tensorscope.models.allocations import UNSEEN, Allocations, find_allocations
from tensorscope.models.block_lines import block_lines
from tensorscope.models.frozen_store import StoreLike

Longs = NDArray[np.int64]

NEWEST = 8
"""Addresses of the newest survivors of a group that are kept, to ask who holds them."""
STEPS, NOTHING = "steps", "nothing"


@dataclass(frozen=True)
class Survivors:
    """Blocks of one category, module and line that outlive the steps that made them."""

    category: str
    module: str
    line: str
    growth: GroupGrowth
    newest: tuple[tuple[int, int], ...]
    """(address, ``alloc`` row) of the newest ones, largest first."""

    def steps_until(self, free_bytes: int) -> int:
        """Return in how many steps `free_bytes` would be used up, at this rate."""
        rate = self.growth.total_bytes / max(1, self.growth.steps_looked_at)
        return int(free_bytes / rate) if rate > 0 else -1


@dataclass(frozen=True)
class SurvivorTable:
    """All groups; `bytes_per_step` is the sum of what leaks.

    Attributes
    ----------
    aligned_by
        `STEPS`, or `NOTHING` where the session has too few of them.
    """

    rows: tuple[Survivors, ...]
    aligned_by: str
    first_step: int
    last_step: int

    @property
    def leaks(self) -> tuple[Survivors, ...]:
        """The groups that leak."""
        return tuple(row for row in self.rows if row.growth.leaks)

    @property
    def bytes_per_step(self) -> int:
        """How fast live bytes grow, by what leaks."""
        return sum(row.growth.total_bytes // max(1, row.growth.steps_looked_at) for row in self.leaks)


def find_survivors(store: StoreLike, blocks: Allocations | None = None) -> SurvivorTable:
    """Return what outlives its step; any thread, on a frozen store.

    Only what came after the newest baseline counts: frees were lost before it.
    """
    steps, baselines = store.tables["step"]["step"], store.records("baseline")
    first_row = baselines[-1].rows["alloc"] if baselines else 0
    first_step = baselines[-1].rows["step"] if baselines else 0
    known = steps[first_step:]
    if len(known) < 2:
        return SurvivorTable((), NOTHING, -1, -1)
    blocks = find_allocations(store) if blocks is None else blocks
    rows = len(blocks.owner)
    end_row = int(np.searchsorted(store.tables["alloc"]["step"], known[-1], side="right"))
    alive = blocks.alive_before(min(end_row, rows))
    alive = alive[(blocks.begin_row[alive] >= first_row) & (blocks.begin_row[alive] != UNSEEN)]
    keys, lines = block_lines(store, blocks)
    # A line that is known in the deep step alone must not split a group.
    split = keys[alive] if _has_lines_everywhere(store) else np.zeros(len(alive), np.int64)
    place = np.stack([blocks.category[alive].astype(np.int64), blocks.module[alive], split], axis=1)
    unique, group = np.unique(place, axis=0, return_inverse=True)
    group = group.ravel()
    growth = group_growth(blocks.step[alive], group, blocks.size_bytes[alive], int(known[0]), int(known[-1]))
    found: list[Survivors] = []
    for one in growth:
        mine = alive[group == one.group]
        category, module, line = unique[one.group].tolist()
        text = lines[line] if line else _common_line(keys[mine], lines)
        found.append(
            Survivors(
                CATEGORIES[min(category, len(CATEGORIES) - 1)], store.string(module), text,
                replace(one, group=len(found)), _newest(blocks, mine),
            )
        )  # fmt: skip
    return SurvivorTable(tuple(found), STEPS, int(known[0]), int(known[-1]))


def _has_lines_everywhere(store: StoreLike) -> bool:
    stacks = store.tables["alloc"]["stack"]
    return bool(len(stacks)) and float(np.mean(stacks[: 1 << 16] != 0)) > 0.5


def _common_line(keys: Longs, lines: list[str]) -> str:
    """Return the line that most of the blocks with a known line come from."""
    known = keys[keys != 0]
    return lines[int(np.bincount(known).argmax())] if len(known) else ""


def _newest(blocks: Allocations, mine: Longs) -> tuple[tuple[int, int], ...]:
    newest = mine[blocks.step[mine] == blocks.step[mine].max()]
    newest = newest[np.argsort(-blocks.size_bytes[newest], kind="stable")][:NEWEST]
    return tuple(zip(blocks.address[newest].tolist(), blocks.begin_row[newest].tolist(), strict=True))
