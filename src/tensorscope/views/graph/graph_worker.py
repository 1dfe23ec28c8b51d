"""Lays out graphs off the GUI thread; only the newest request is answered."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal

from tensorscope.compute.graph_layout import Cancelled, LayoutCancelledError

logger = logging.getLogger(__name__)


class GraphWorker(QObject):
    """One request at a time counts. Lives in the GUI thread, and so do the slots of `done`."""

    done = Signal(int, object)  # generation, result or an exception

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.generation = 0
        self.waiting = False
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)

    def ask(self, work: Callable[[Cancelled], Any]) -> int:
        """Start `work`, give up what was asked before, and return the number of this request."""
        self.cancel()
        self.waiting = True
        self._pool.start(_Task(self, self.generation, work))
        return self.generation

    def cancel(self) -> None:
        """Give up the request that is under way; its answer will not come."""
        self.generation += 1
        self.waiting = False

    def accept(self, generation: int) -> bool:
        """Return whether an answer is the one that is waited for, and stop waiting."""
        if generation != self.generation:
            return False
        self.waiting = False
        return True

    def wait(self) -> None:
        """Give up and wait until no thread is at work, before the view goes away."""
        self.cancel()
        self._pool.clear()
        self._pool.waitForDone()


class _Task(QRunnable):
    def __init__(self, worker: GraphWorker, generation: int, work: Callable[[Cancelled], Any]) -> None:
        super().__init__()
        self._worker, self._generation, self._work = worker, generation, work

    def _cancelled(self) -> bool:
        return self._worker.generation != self._generation

    def run(self) -> None:
        """Work, and answer unless given up."""
        try:
            result = self._work(self._cancelled)
        except LayoutCancelledError:
            return
        except Exception as error:
            logger.exception("The graph could not be laid out")
            result = error
        if not self._cancelled():
            self._worker.done.emit(self._generation, result)
