"""Base of panels that show one answer worked out of the whole session, off the GUI thread."""

from __future__ import annotations

import time
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QStackedLayout, QVBoxLayout, QWidget

from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.session_model import SessionModel
from tensorscope.views.items.newest_job import NewestJob
from tensorscope.views.memory_details.memory_panel import MemoryPanel

LEAST_S = 1.0
SHARE = 0.1
"""Of a core's time that a panel may cost while a session is live."""


class ComputedPanel(MemoryPanel):
    """Works the answer out again when the session has grown, and shows a sentence while there is none.

    A panel implements `compute` (any thread, on a frozen store), `show_answer`, `key` and
    `missing_text`, and puts its widgets into `body`.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = SessionModel()
        self.answer: Any = None
        self._asked: tuple[object, ...] | None = None
        self._job = NewestJob(self)
        self._job.done.connect(self._on_done)
        self._begun_at = self._rest_until = 0.0
        self._problem = ""
        self.body = QWidget(self)
        self.message = QLabel(self)
        self.message.setObjectName(f"{self.panel_id}Message")
        self.message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.message.setWordWrap(True)
        self.message.setMargin(24)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        self._stack = QStackedLayout()
        self._stack.addWidget(self.body)
        self._stack.addWidget(self.message)
        layout.addLayout(self._stack)

    # -- what a panel says ----------------------------------------------------------------------

    def key(self) -> tuple[object, ...]:
        """Return what the answer depends on, beside the session's data."""
        return ()

    def compute(self, store: FrozenStore) -> Any:
        """Return the answer, None where there is none. Any thread; touches no widget."""
        raise NotImplementedError

    def show_answer(self) -> None:
        """Show `self.answer`, which is not None."""
        raise NotImplementedError

    def missing_text(self) -> str:
        """Return why there is no answer, and what to do."""
        raise NotImplementedError

    # -- what the view asks ---------------------------------------------------------------------

    def set_session(self, session: SessionModel) -> None:
        """Show another session."""
        self._job.cancel()
        self.session, self.answer, self._asked, self._rest_until = session, None, None, 0.0
        self._show()

    def refresh(self) -> None:
        """Ask for the answer again where the session has grown; a live one not too often."""
        tables = self.session.store.tables
        size = (*(len(table) for table in tables.values()), len(self.session.store.all_records()))
        asked = (*self.key(), size)
        now = time.monotonic()
        same = self._asked is not None and asked[:-1] == self._asked[:-1]
        if asked == self._asked or (same and (self._job.waiting or now < self._rest_until)):
            return
        self._asked, self._begun_at = asked, now
        store = FrozenStore(self.session.store)
        self._job.ask(lambda cancelled: self.compute(store))

    def is_idle(self) -> bool:
        """Return whether nothing is being computed."""
        return not self._job.waiting

    def retranslate(self) -> None:
        """Set every text again."""
        self._show()

    def _on_done(self, generation: int, result: object) -> None:
        if not self._job.accept(generation):
            return
        took = time.monotonic() - self._begun_at
        self._rest_until = time.monotonic() + max(LEAST_S, took / SHARE)
        self._problem = f"{type(result).__name__}: {result}" if isinstance(result, Exception) else ""
        self.answer = None if self._problem else result
        self._show()

    def _show(self) -> None:
        self._stack.setCurrentWidget(self.message if self.answer is None else self.body)
        if self.answer is not None:
            self.message.clear()
            self.show_answer()
        elif self._problem:
            self.message.setText(
                self.tr("This could not be worked out: {reason}").format(reason=self._problem)
            )
        else:
            self.message.setText(self.tr("Working it out …") if self._job.waiting else self.missing_text())
