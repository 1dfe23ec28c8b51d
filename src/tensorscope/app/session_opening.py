"""Opens sessions off the GUI thread: files that are read, scripts that are started."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from tensorscope.core.errors import TensorScopeError
from tensorscope.launch.target import Target, TargetOptions
from tensorscope.models.session_loading import load_session
from tensorscope.models.session_model import SessionModel


class Opening(QObject):
    """One attempt to open something. Lives in the GUI thread; its signals arrive there.

    Attributes
    ----------
    cancelled
        Set it to give up; a result that still comes is thrown away.
    """

    progressed = Signal(int, int)
    opened = Signal(object)
    """A `SessionModel` (from a file) or a `Target` that is ready."""
    failed = Signal(str)
    choice_asked = Signal(object)
    """What a large file holds; whoever hears it answers with `choose`."""

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.name = name
        self.cancelled = threading.Event()
        self.target: Target | None = None
        self._answered = threading.Event()
        self._choice: tuple[str, str] | None = None

    def read(self, path: Path) -> None:
        """Read a file in a worker thread; of a large foreign one, the person chooses a part."""
        self._work(lambda: load_session(path, self._progress, choose=self._choose))

    def _choose(self, summary: dict[str, Any]) -> tuple[str, str] | None:
        """Ask for a part, and wait for the answer. Any thread but the GUI's."""
        self._answered.clear()
        self._emit(self.choice_asked, summary)
        while not self._answered.wait(0.1):
            if self.cancelled.is_set():
                return None
        return self._choice

    def choose(self, choice: tuple[str, str] | None) -> None:
        """Answer `choice_asked`: ("events" or "steps", "A:B"), None for all."""
        self._choice = choice
        self._answered.set()

    def launch(self, options: TargetOptions) -> None:
        """Start a script in a worker thread and wait until its agent listens."""
        self._work(lambda: self._launch(options))

    def _launch(self, options: TargetOptions) -> Target:
        self.target = Target.start(options)
        try:
            if not self.cancelled.is_set():
                self.target.wait_ready()
        except TensorScopeError:
            self.target.stop()
            raise
        return self.target

    def _progress(self, done: int, total: int) -> bool:
        self._emit(self.progressed, done, total)
        return not self.cancelled.is_set()

    def _work(self, job: Callable[[], SessionModel | Target]) -> None:
        threading.Thread(target=self._run, args=(job,), name="tensorscope-opening", daemon=True).start()

    def _run(self, job: Callable[[], SessionModel | Target]) -> None:
        try:
            result = job()
        except TensorScopeError as error:
            self._emit(self.failed, str(error))
        except Exception as error:  # noqa: BLE001  (no thread of ours ends in silence)
            self._emit(self.failed, f"{self.name} cannot be opened: {error!r}.")
        else:
            if isinstance(result, Target) and self.cancelled.is_set():
                result.stop()
            self._emit(self.opened, result)

    def _emit(self, signal: object, *arguments: object) -> None:
        try:
            signal.emit(*arguments)  # type: ignore[attr-defined]
        except RuntimeError:  # the window was closed meanwhile
            if arguments and isinstance(arguments[0], Target):
                arguments[0].stop()
