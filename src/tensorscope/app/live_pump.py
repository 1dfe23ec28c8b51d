"""Takes in what a live session sends and refreshes what is visible, in small slices."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

from tensorscope.models.session_model import SessionModel
from tensorscope.views.session_view import SessionView

LOGGER = logging.getLogger("tensorscope")
PERIOD_MS = 33
PUMP_BUDGET_MS = 6.0


class LivePump(QObject):
    """A 30 Hz timer of the GUI thread: one bounded intake and one view refreshed a tick.

    Attributes
    ----------
    longest_slice_ms
        The longest time that one tick kept the GUI thread.
    """

    ticked = Signal()
    view_failed = Signal(str, str)
    """View id and reason; the view keeps the last picture that it could make."""

    def __init__(self, views: Callable[[], list[SessionView]], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.longest_slice_ms = 0.0
        self._views = views
        self._session = SessionModel()
        self._seen: dict[str, tuple[int, int]] = {}
        self._failed: set[tuple[str, str]] = set()
        self._turn = 0
        self._timer = QTimer(self)
        self._timer.setInterval(PERIOD_MS)
        self._timer.timeout.connect(self.tick)

    def set_session(self, session: SessionModel) -> None:
        """Pump another session."""
        self._session = session
        self._seen.clear()
        self._failed.clear()
        self._timer.start()

    def stop(self) -> None:
        """Stop for good."""
        self._timer.stop()

    def is_idle(self) -> bool:
        """Whether every visible view shows what the store holds and computes nothing."""
        return all(self._seen.get(v.view_id) == self._now() and v.is_idle() for v in self._visible())

    def tick(self) -> None:
        """Take in, then refresh the next visible view that is behind."""
        began = time.perf_counter()
        self._session.pump(PUMP_BUDGET_MS)
        behind = [view for view in self._visible() if self._seen.get(view.view_id) != self._now()]
        if behind:
            self._turn += 1
            self._refresh(behind[self._turn % len(behind)])
        self.longest_slice_ms = max(self.longest_slice_ms, (time.perf_counter() - began) * 1000)
        self.ticked.emit()

    def _now(self) -> tuple[int, int]:
        return self._session.store.version, self._session.current_step

    def _visible(self) -> list[SessionView]:
        return [view for view in self._views() if view.isVisible()]

    def _refresh(self, view: SessionView) -> None:
        self._seen[view.view_id] = self._now()
        try:
            view.refresh()
        except Exception as error:
            LOGGER.exception("The %s view could not be refreshed", view.view_id)
            key = (view.view_id, repr(error))
            if key not in self._failed:
                self._failed.add(key)
                self.view_failed.emit(view.view_id, repr(error))
