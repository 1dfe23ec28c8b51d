"""Which session the window shows, and what the person does with it."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from tensorscope.app.session_opening import Opening
from tensorscope.core.errors import TensorScopeError
from tensorscope.launch.target import Target, TargetOptions
from tensorscope.models.session_model import SessionModel
from tensorscope.transport.link import Link

LOGGER = logging.getLogger("tensorscope")


def _end(target: Target) -> None:
    """End a program that we started; it gets its time to end well, even when we quit meanwhile."""
    threading.Thread(target=target.stop, name="tensorscope-stopping").start()  # not a daemon, therefore


class SessionController(QObject):
    """Opens, replaces and closes the session. GUI thread.

    The demo ends with its session; a program that we attached to, or that the person asked us to run,
    goes on.
    """

    session_opened = Signal(object)
    session_closed = Signal()
    opening_changed = Signal(object)
    """The `Opening` that is under way, or None."""
    choice_asked = Signal(object, object)
    """The `Opening` and what its large file holds: which part should be read?"""
    noticed = Signal(str, str)
    """Severity and text."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.session: SessionModel | None = None
        self.target: Target | None = None
        self.left_running: list[Target] = []
        """Programs that we started and that go on without a window."""
        self._link: Link | None = None
        self._opening: Opening | None = None
        self._record: Path | None = None
        self._stop_after = 0
        self._told: tuple[int, int] = (0, 0)
        self._state = ""

    def open_file(self, path: Path) -> None:
        """Read a session file, then show it."""
        opening = self._begin(path.name)
        opening.opened.connect(self._on_file)
        opening.choice_asked.connect(self._on_choice_asked)
        opening.read(path)

    def _on_choice_asked(self, summary: object) -> None:
        if self._opening is not None:
            self.choice_asked.emit(self._opening, summary)

    def run_script(self, options: TargetOptions) -> None:
        """Start a script, then show it."""
        opening = self._begin(Path(options.argv[0]).name)
        opening.opened.connect(self._on_target)
        opening.launch(options)

    def attach(
        self, address: str, token: str | None = None, record: Path | None = None, steps: int = 0
    ) -> None:
        """Look at a program that runs."""
        try:
            link = Link(address, token)
        except TensorScopeError as error:
            self.noticed.emit("error", str(error))
            return
        self.close()
        self._record, self._stop_after = record, steps
        self._show_live(SessionModel(address, link), link)

    def cancel_opening(self) -> None:
        """Give up what is being opened."""
        if self._opening is not None:
            self._opening.cancelled.set()
            if self._opening.target is not None:
                _end(self._opening.target)
            self._opening = None
            self.opening_changed.emit(None)

    def send(self, name: str, **arguments: object) -> None:
        """Send a command, or say why that is impossible."""
        if self.session is None or self.session.send(name, **arguments) < 0:
            self.noticed.emit("warning", self.tr("There is no live program to do that to."))

    def start_recording(self, path: Path, replace: bool = False) -> None:
        """Write the session to a file from its start on."""
        if self.session is None:
            return
        try:
            self.session.start_recording(path, replace)
        except TensorScopeError as error:
            self.noticed.emit("error", str(error))

    def stop_recording(self) -> None:
        """Finish the file."""
        if self.session is not None and self.session.recording is not None:
            path = self.session.recording.path
            self.session.stop_recording()
            self.noticed.emit("info", self.tr("Recorded {path}").format(path=path))

    def close(self) -> None:
        """Leave the program (or end it, if it is ours) and forget the session."""
        self.cancel_opening()
        session, link, target = self.session, self._link, self.target
        self.session = self._link = self.target = None
        if session is not None:
            session.stop_recording()  # leaving restores the program; it can be attached to again
        if link is not None:
            link.close()
        if target is not None and target.outlives_window and target.exit_code is None:
            self.left_running.append(target)
        elif target is not None:
            _end(target)
        if session is not None:
            self.session_closed.emit()

    def watch(self) -> None:
        """Pass on what the session has to say. Called at every tick."""
        session = self.session
        if session is None:
            return
        notices, problems = session.store.records("notice"), session.problems
        for record in notices[self._told[0] :]:
            self._tell(str(record.meta.get("severity", "info")), str(record.meta.get("text", "")))
        for problem in problems[self._told[1] :]:
            self._tell("warning", problem)
        self._told = (len(notices), len(problems))
        if session.state != self._state:
            self._state = session.state
            self._on_state(session)
        if self._stop_after and session.recorded_steps >= self._stop_after:
            self._stop_after = 0
            if self._link is not None:
                self._link.close()

    def _tell(self, severity: str, text: str) -> None:
        LOGGER.log(
            {"error": logging.ERROR, "warning": logging.WARNING}.get(severity, logging.INFO), "%s", text
        )
        if severity != "info":
            self.noticed.emit(severity, text)

    def _on_state(self, session: SessionModel) -> None:
        problem = session.source.problem if session.source is not None else ""
        LOGGER.info("%s: %s %s", session.title, session.state, problem)
        if session.state == "open" and self._record is not None:
            record, self._record = self._record, None
            self.start_recording(record)
        elif session.state == "lost":
            kept = self.tr("Everything received until then is kept.") if session.recorded_steps else ""
            self.noticed.emit("error", f"{problem} {kept}".strip())
        elif session.state == "closed":
            self.noticed.emit("info", problem or self.tr("The program is not attached any more."))

    def _begin(self, name: str) -> Opening:
        self.cancel_opening()
        opening = Opening(name, self)
        opening.failed.connect(self._on_failed)
        self._opening = opening
        self.opening_changed.emit(opening)
        return opening

    def _end_opening(self) -> bool:
        """Return whether the sender was still wanted."""
        wanted = self._opening is not None and self.sender() is self._opening
        if wanted:
            self._opening = None
            self.opening_changed.emit(None)
        return wanted

    def _on_failed(self, text: str) -> None:
        if self._end_opening():
            LOGGER.error("%s", text)
            self.noticed.emit("error", text)

    def _on_file(self, session: SessionModel) -> None:
        if self._end_opening():
            self.close()
            self._show(session)

    def _on_target(self, target: Target) -> None:
        if not self._end_opening():
            _end(target)
            return
        self.close()
        self.target = target
        link = Link(target.address)
        self._show_live(SessionModel(Path(target.name).name, link), link)

    def _show_live(self, session: SessionModel, link: Link) -> None:
        self._link = link
        self._show(session)

    def _show(self, session: SessionModel) -> None:
        self.session, self._told, self._state = session, (0, 0), ""
        self.session_opened.emit(session)
