"""Work off the GUI thread of which only the newest request is answered."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from PySide6.QtCore import QObject, Signal

from tensorscope.compute.cancelling import Cancelled, CancelledError

logger = logging.getLogger(__name__)


class NewestJob(QObject):
    """Lives in the GUI thread, and so do the slots of `done`: they run there, whoever emits.

    A Python thread, not a pool of Qt: a pool waits for its threads when it is destroyed, with the
    interpreter locked, and they could never end.
    """

    done = Signal(int, object)  # generation, result or an exception

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.generation = 0
        self.waiting = False
        self._thread: threading.Thread | None = None

    def ask(self, work: Callable[[Cancelled], Any]) -> int:
        """Start `work`, give up what was asked before, and return the number of this request."""
        self.cancel()
        self.waiting = True
        arguments = (self.generation, work)
        self._thread = threading.Thread(target=self._run, args=arguments, name="tensorscope-job", daemon=True)
        self._thread.start()
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
        """Give up and wait until the newest thread has ended."""
        self.cancel()
        if self._thread is not None:
            self._thread.join()

    def _run(self, generation: int, work: Callable[[Cancelled], Any]) -> None:
        def cancelled() -> bool:
            return self.generation != generation

        try:
            result = work(cancelled)
        except CancelledError:
            return
        except Exception as error:
            logger.exception("A job of a view failed")
            result = error
        if not cancelled():
            with suppress(RuntimeError):  # the view was destroyed meanwhile
                self.done.emit(generation, result)
