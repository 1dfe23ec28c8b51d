"""Keeps the live bytes by another grouping than the category up to date, off the GUI thread."""

from __future__ import annotations

import time
from typing import Any

from PySide6.QtCore import QObject, Signal

from tensorscope.models.allocations import find_allocations
from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.grouping import Grouped, group_blocks
from tensorscope.models.session_store import SessionStore
from tensorscope.views.items.newest_job import NewestJob

LEAST_S = 0.5
SHARE = 0.1
"""Of a core's time that a live session may cost."""


class Regrouping(QObject):
    """Answers with a `Grouped` when it is made; lives in the GUI thread."""

    done = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = SessionStore()
        self._job = NewestJob(self)
        self._job.done.connect(self._on_done)
        self._wanted: tuple[Any, ...] = ()
        self._begun_at = self._rest_until = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether an answer is on its way."""
        return self._job.waiting

    def set_store(self, store: SessionStore) -> None:
        """Work on another session."""
        self.cancel()
        self._store = store

    def cancel(self) -> None:
        """Forget what was asked for."""
        self._job.cancel()
        self._wanted, self._rest_until = (), 0.0

    def keep(self, group: str, device: int | None, depth: int) -> None:
        """Ask for a grouping, unless it is there already or was asked for a moment ago."""
        rows = len(self._store.tables["alloc"]), len(self._store.records("baseline"))
        wanted = (group, device, depth, rows)
        now = time.monotonic()
        same_question = wanted[:3] == self._wanted[:3]
        if wanted == self._wanted or (same_question and (self._job.waiting or now < self._rest_until)):
            return
        self._wanted, self._begun_at = wanted, now
        store = FrozenStore(self._store)
        self._job.ask(lambda cancelled: group_blocks(store, find_allocations(store), group, device, depth))

    def _on_done(self, generation: int, result: object) -> None:
        if not self._job.accept(generation):
            return
        took = time.monotonic() - self._begun_at
        self._rest_until = time.monotonic() + max(LEAST_S, took / SHARE)
        if isinstance(result, Grouped):
            self.done.emit(result)
