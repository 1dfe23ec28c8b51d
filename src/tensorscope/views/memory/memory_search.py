"""Looks for allocations off the GUI thread, and steps through what was found."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from tensorscope.compute.live_bytes import LiveBytes
from tensorscope.core.units import format_bytes
from tensorscope.models.allocation_search import Found, search_blocks
from tensorscope.models.allocations import Allocations, find_allocations
from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.memory_axis import MemoryAxis
from tensorscope.models.session_store import SessionStore
from tensorscope.views.items.newest_job import NewestJob

Longs = NDArray[np.int64]


class MemorySearch(QObject):
    """One search at a time; lives in the GUI thread."""

    done = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = SessionStore()
        self._job = NewestJob(self)
        self._job.done.connect(self._on_done)
        self._text = ""
        self._found: Found | None = None
        self._blocks: Allocations | None = None
        self._live = LiveBytes(1)
        self._at = -1

    @property
    def is_busy(self) -> bool:
        """Whether an answer is on its way."""
        return self._job.waiting

    def set_store(self, store: SessionStore) -> None:
        """Look in another session."""
        self._store = store
        self.look_for(self._text)

    def look_for(self, text: str) -> None:
        """Begin a search; an empty text ends it."""
        self._text, self._found, self._at = text.strip(), None, -1
        self._job.cancel()
        if self._text:
            store = FrozenStore(self._store)
            self._job.ask(lambda cancelled: _look(store, text))

    def _on_done(self, generation: int, result: Any) -> None:
        if self._job.accept(generation) and not isinstance(result, Exception):
            self._found, self._blocks, self._live = result
            self.done.emit()

    def summary(self) -> str:
        """Return how much was found, "" without a search."""
        if self._found is None:
            return self.tr("Looking …") if self._text else ""
        count = len(self._found.blocks)
        if not count:
            return self.tr("Nothing found for “{text}”").format(text=self._text)
        size = format_bytes(self._found.total_bytes)
        if self._at >= 0:
            text = self.tr("Found {number} of {count}, {size} in all · F3: next, Shift+F3: previous")
            return text.format(number=f"{self._at + 1:,}", count=f"{count:,}", size=size)
        text = self.tr("{count} allocations found, {size} in all · Enter or F3 goes to the next")
        return text.format(count=f"{count:,}", size=size)

    def next(self, direction: int = 1) -> tuple[int, int, int] | None:
        """Return address, ``alloc`` row and begin of the next (1) or previous (-1) block that was found."""
        if self._found is None or self._blocks is None or not len(self._found.blocks):
            return None
        start = self._at if self._at >= 0 or direction > 0 else 0
        self._at = (start + direction) % len(self._found.blocks)
        block = int(self._found.blocks[self._at])
        row, begin = int(self._blocks.begin_row[block]), int(self._blocks.begin_ns[block])
        return int(self._blocks.address[block]), row, begin

    def levels(
        self, axis: MemoryAxis, window: tuple[int, int], columns: int
    ) -> tuple[Longs, Longs, NDArray[np.int64]]:
        """Return the live bytes of what was found in each column of a window, in axis units."""
        nothing = np.empty(0, np.int64)
        if self._found is None or not len(self._live):
            return nothing, nothing, nothing
        first, last = window
        edges = first + np.arange(columns + 1) * (last - first) // columns
        times = axis.to_times(edges)
        high = self._live.columns(times, int(times[-1]) + 1).high_point
        known = np.flatnonzero(high >= 0)
        return edges[known], edges[known + 1], self._live.total_bytes[high[known]]


def _look(store: FrozenStore, text: str) -> tuple[Found, Allocations, LiveBytes]:
    blocks = find_allocations(store)
    found = search_blocks(store, blocks, text)
    at = found.blocks
    ended = blocks.end_ns[at] < np.iinfo(np.int64).max
    times = np.concatenate([blocks.begin_ns[at], blocks.end_ns[at][ended]])
    delta = np.concatenate([blocks.size_bytes[at], -blocks.size_bytes[at][ended]])
    order = np.argsort(times, kind="stable")
    live = LiveBytes(1)
    live.append(times[order], delta[order], np.zeros(len(order), np.int64), np.arange(len(order)))
    return found, blocks, live
