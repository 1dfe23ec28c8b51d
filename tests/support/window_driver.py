"""Acts like a person in the window of this process: steps of a generator, run by its event loop."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Generator

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QWidget

Script = Generator[Callable[[], object], None, None]
"""Yields a condition; it is resumed once that holds."""


class WindowDriver(QObject):
    """Runs a script while the event loop runs; closes the window at its end, or when it fails."""

    def __init__(self, window: QWidget, script: Script, patience_seconds: float = 90) -> None:
        super().__init__(window)
        self.problem = "the script did not come to its end"
        self._window = window
        self._script = script
        self._patience_seconds = patience_seconds
        self._condition: Callable[[], object] = lambda: True
        self._deadline = time.monotonic() + patience_seconds
        self._busy = False
        self._timer = QTimer(self)
        self._timer.setInterval(20)
        self._timer.timeout.connect(self._on_turn)
        self._timer.start()

    def _on_turn(self) -> None:
        if self._busy:  # a modal dialog runs its own event loop
            return
        self._busy = True
        try:
            self._advance()
        except StopIteration:
            self._end("")
        except Exception:  # noqa: BLE001  (whatever it is, the test must hear of it)
            self._end(traceback.format_exc())
        finally:
            self._busy = False

    def _advance(self) -> None:
        if self._condition():
            self._condition = next(self._script)
            self._deadline = time.monotonic() + self._patience_seconds
        elif time.monotonic() > self._deadline:
            frame = self._script.gi_frame
            raise TimeoutError(f"waited in vain at line {frame.f_lineno if frame else '?'}")

    def _end(self, problem: str) -> None:
        self.problem = problem
        self._timer.stop()
        self._window.close()
