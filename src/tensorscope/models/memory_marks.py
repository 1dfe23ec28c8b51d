"""What happened beside allocations: the program's own annotations, failed requests, segments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorscope.models.memory_axis import MemoryAxis
from tensorscope.models.session_store import SessionStore

Longs = NDArray[np.int64]

OOM, SEGMENT_TAKEN, SEGMENT_GIVEN, ANNOTATION = range(4)
MARK_ACTIONS = {
    "oom": OOM, "segment_alloc": SEGMENT_TAKEN, "segment_map": SEGMENT_TAKEN,
    "segment_free": SEGMENT_GIVEN, "segment_unmap": SEGMENT_GIVEN,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Marks:
    """Moments in axis units, at most one of a kind a column of pixels, and how many they stand for."""

    x: Longs
    kind: Longs
    count: Longs
    row: Longs
    """Row of the ``trace`` or, for annotations, of the ``annotation`` table of the first."""


class MemoryMarks:
    """Finds the marks of one session in a window. GUI thread."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._known = (-1, -1)
        self._t_ns = self._kind = self._row = np.empty(0, np.int64)

    def in_window(
        self, axis: MemoryAxis, window: tuple[int, int], columns: int, kinds: frozenset[int]
    ) -> Marks:
        """Return the marks of `kinds` within a window of so many columns of pixels."""
        self._update()
        span = axis.within(self._t_ns, window)
        x, kind, row = axis.of_times(self._t_ns[span]), self._kind[span], self._row[span]
        first, last = window
        seen = np.flatnonzero((x >= first) & (x <= last) & np.isin(kind, list(kinds)))
        column = (x[seen] - first) * columns // max(1, last - first)
        cell = column * 4 + kind[seen]
        _, index, count = np.unique(cell, return_index=True, return_counts=True)
        shown = seen[index]
        return Marks(x[shown], kind[shown], count, row[shown])

    def near(self, axis: MemoryAxis, x: int, reach: int, kinds: frozenset[int]) -> tuple[int, int] | None:
        """Return kind and row of the mark next to `x`, the rarest kind first; None if none is in reach."""
        self._update()
        span = axis.within(self._t_ns, (x - reach, x + reach))
        away = np.abs(axis.of_times(self._t_ns[span]) - x)
        kind, row = self._kind[span], self._row[span]
        for wanted in (OOM, ANNOTATION, SEGMENT_TAKEN, SEGMENT_GIVEN):
            at = np.flatnonzero((kind == wanted) & (away <= reach))
            if wanted in kinds and len(at):
                return wanted, int(row[at[np.argmin(away[at])]])
        return None

    def _update(self) -> None:
        trace, notes = self._store.tables["trace"], self._store.tables["annotation"]
        if self._known == (len(trace), len(notes)):
            return
        self._known = len(trace), len(notes)
        kind_of = np.full(len(self._store.strings), -1, np.int64)
        for index, text in enumerate(self._store.strings):
            kind_of[index] = MARK_ACTIONS.get(text, -1)
        inside = np.where(trace["action"] < len(kind_of), trace["action"], 0)
        kinds = kind_of[inside]
        rows = np.flatnonzero(kinds >= 0)
        begins = np.flatnonzero(notes["stage"] == 0)
        t_ns = np.concatenate([trace["t_ns"][rows], notes["t_ns"][begins]]) - self._store.origin_ns
        order = np.argsort(t_ns, kind="stable")
        self._t_ns = t_ns[order]
        self._kind = np.concatenate([kinds[rows], np.full(len(begins), ANNOTATION)])[order]
        self._row = np.concatenate([rows, begins])[order]
