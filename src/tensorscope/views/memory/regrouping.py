"""Keeps the live bytes by another grouping than the category up to date, off the GUI thread."""

from __future__ import annotations

import math
import time
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from tensorscope.compute.cancelling import Cancelled
from tensorscope.models.allocations import Allocations, find_allocations
from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.grouping import Grouped, group_blocks
from tensorscope.models.session_store import SessionStore
from tensorscope.views.items.newest_job import NewestJob

LEAST_S = 0.5
SHARE = 0.1
"""Of a core's time that a live session may cost."""
GROWTH = 2.0
"""With so many times the events, the series are ranked anew."""
KEPT_ROWS = 2_000_000
"""Up to this many events, the pairs are kept for the next question."""


class Regrouping(QObject):
    """Answers with a `Grouped` when it is made; lives in the GUI thread."""

    done = Signal(object)
    due = Signal()
    """The answer cannot be continued, and enough time has passed: ask again."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = SessionStore()
        self._job = NewestJob(self)
        self._job.done.connect(self._on_done)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.timeout.connect(self.due)
        self._wanted: tuple[Any, ...] = ()
        self._answer: Grouped | None = None
        self._blocks: Allocations | None = None
        self._begun_at = self._rest_until = 0.0
        self._ranked_rows = 0

    @property
    def is_busy(self) -> bool:
        """Whether an answer is on its way, or will be asked for soon."""
        return self._job.waiting or self._rest.isActive()

    def set_store(self, store: SessionStore) -> None:
        """Work on another session."""
        self.cancel()
        self._store, self._blocks = store, None

    def cancel(self) -> None:
        """Forget what was asked for."""
        self._job.cancel()
        self._rest.stop()
        self._wanted, self._answer, self._rest_until = (), None, 0.0

    def keep(self, group: str, device: int | None, depth: int) -> None:
        """Ask for a grouping, unless it is there and goes on by itself, or was asked for a moment ago."""
        wanted = (group, device, depth)
        if wanted == self._wanted and (self._job.waiting or not self._is_due()):
            return
        self._rest.stop()
        self._wanted, self._answer, self._begun_at = wanted, None, time.monotonic()
        store, known = FrozenStore(self._store), self._blocks

        def work(_: Cancelled) -> Answer:
            blocks = known if known is not None and _covers(known, store) else find_allocations(store)
            return group_blocks(store, blocks, group, device, depth), blocks

        self._job.ask(work)

    def _is_due(self) -> bool:
        """Return whether the answer cannot be continued, or tells of the beginning of a session only."""
        if self._answer is None:
            return False
        wait_s = self._rest_until - time.monotonic()
        if self._answer.tail.stopped and wait_s > 0 and not self._rest.isActive():
            self._rest.start(math.ceil(1e3 * wait_s))
        grown = self._answer.rows > GROWTH * self._ranked_rows
        return wait_s <= 0 and (self._answer.tail.stopped or grown)

    def _on_done(self, generation: int, result: object) -> None:
        if not self._job.accept(generation):
            return
        took = time.monotonic() - self._begun_at
        self._rest_until = time.monotonic() + max(LEAST_S, took / SHARE)
        if isinstance(result, tuple):
            self._answer, blocks = result
            self._ranked_rows = len(blocks.owner)
            self._blocks = blocks if self._ranked_rows <= KEPT_ROWS else None
            self.done.emit(self._answer)


Answer = tuple[Grouped, Allocations]


def _covers(blocks: Allocations, store: FrozenStore) -> bool:
    rows, baselines = len(store.tables["alloc"]), len(store.records("baseline"))
    return (len(blocks.owner), len(blocks.listed)) == (rows, baselines)
