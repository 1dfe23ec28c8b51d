"""One open session, live or from a file: its data, where the person stands in it, and what they selected."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Protocol

from psygnal import Signal

from tensorscope.core.errors import DataError
from tensorscope.core.wire import Frame
from tensorscope.models.meta_checks import check_meta
from tensorscope.models.saved_frames import saved_frames
from tensorscope.models.selection import NOTHING, Selection
from tensorscope.models.session_store import SessionStore
from tensorscope.transport.recording import Recording


class FrameSource(Protocol):
    """A live connection (`transport.link.Link`) as this model needs it."""

    @property
    def state(self) -> str:
        """``connecting``, ``open``, ``closed`` (said goodbye) or ``lost``."""

    @property
    def problem(self) -> str:
        """Why it is lost, for a person; empty otherwise."""

    def poll(self) -> Frame | None:
        """Return the next frame, or None at once if there is none."""

    def send(self, frame: Frame) -> None:
        """Queue a frame for the target; never blocks."""


class SessionModel:
    """State shared by all views of one session. GUI thread only; Qt-free.

    The step slider is `current_step`; while `follow` is set it moves with the newest step.
    `paused` stops taking in frames (they wait, bounded, in the link), not the target.
    """

    data_changed = Signal()
    step_changed = Signal(int)
    selection_changed = Signal(object)
    moment_changed = Signal(object)  # ns since the origin, or None
    state_changed = Signal()
    reply_received = Signal(object)  # meta of a ``reply`` frame
    toggle_changed = Signal(object)  # meta of a ``toggle`` frame

    def __init__(self, title: str = "", source: FrameSource | None = None) -> None:
        self.title = title
        self.store = SessionStore()
        self.source = source
        self.selection = NOTHING
        self.follow = True
        self.paused = False
        self.moment_ns: int | None = None
        """The instant whose memory is looked at, in ns since the origin; None: the peak in view."""
        self.problems: list[str] = []
        """What went wrong with the data, oldest first, for the person."""
        self.recording: Recording | None = None
        """The session file that is being written, if any."""
        self._current_step = -1
        self._next_command_id = 1
        self._last_state = self.state

    @property
    def state(self) -> str:
        """``file``, ``paused``, or the state of the source."""
        if self.source is None:
            return "file"
        if self.paused and self.source.state == "open":
            return "paused"
        return self.source.state

    @property
    def current_step(self) -> int:
        """The step all views show; -1 before the first step."""
        return self._current_step

    @property
    def last_step(self) -> int:
        """The newest complete step; -1 before the first."""
        steps = self.store.tables["step"]["step"]
        return int(steps[-1]) if len(steps) else -1

    @property
    def recorded_steps(self) -> int:
        """How many steps are known."""
        return len(self.store.tables["step"])

    def select(self, selection: Selection) -> None:
        """Select one thing in every view."""
        if selection != self.selection:
            self.selection = selection
            self.selection_changed.emit(selection)

    def go_to_step(self, step: int, follow: bool = False) -> None:
        """Show `step` in every view; `follow` keeps moving with the live stream."""
        self.follow = follow
        if step != self._current_step:
            self._current_step = step
            self.step_changed.emit(step)

    def go_to_moment(self, moment_ns: int | None) -> None:
        """Look at the memory of one instant, in every view."""
        if moment_ns != self.moment_ns:
            self.moment_ns = moment_ns
            self.moment_changed.emit(moment_ns)

    def set_paused(self, paused: bool) -> None:
        """Stop or resume taking in frames of a live stream."""
        self.paused = paused
        self._note_state()

    def send(self, command: str, /, **args: Any) -> int:
        """Send `command` with `args` to the target and return its id; the ``reply`` carries the same id.

        Returns -1 when there is no live target.
        """
        if self.source is None or self.source.state != "open":
            return -1
        command_id, self._next_command_id = self._next_command_id, self._next_command_id + 1
        self.source.send(Frame("command", meta={"id": command_id, "name": command, "args": args}))
        return command_id

    def start_recording(self, path: Path, replace: bool = False) -> None:
        """Write the session so far, and all that comes, into a session file.

        Raises
        ------
        SessionFileError
            If the file cannot be made.
        """
        self.stop_recording()
        self.recording = Recording(path, saved_frames(self.store), replace)
        self.state_changed.emit()

    def stop_recording(self) -> None:
        """Finish the session file; waits until it is written."""
        recording, self.recording = self.recording, None
        if recording is not None:
            recording.close()
            if recording.problem:
                self.problems.append(recording.problem)
            self.state_changed.emit()

    def pump(self, budget_ms: float = 8.0) -> bool:
        """Take in waiting frames for at most about `budget_ms`; return whether any came."""
        if self.source is None or self.paused:
            self._note_state()
            return False
        deadline = time.perf_counter() + budget_ms / 1000
        taken = 0
        while (frame := self.source.poll()) is not None:
            self.ingest(frame)
            taken += 1
            if time.perf_counter() > deadline:
                break
        if taken:
            self.after_ingest()
        self._note_state()
        return taken > 0

    def ingest(self, frame: Frame) -> None:
        """Take in one frame; bad data is noted in `problems`, never raised."""
        try:
            check_meta(frame.kind, frame.meta)
            self.store.ingest(frame)
        except DataError as error:
            self.problems.append(f"A {frame.kind!r} frame of step {frame.step} was left out: {error}.")
            return
        if self.recording is not None:
            self.recording.put(frame)
        if frame.kind == "reply":
            self.reply_received.emit(frame.meta)
        elif frame.kind == "toggle":
            self.toggle_changed.emit(frame.meta)

    def after_ingest(self) -> None:
        """Tell the views about what `ingest` took in."""
        if self.follow:
            self.go_to_step(self.last_step, follow=True)
        self.data_changed.emit()

    def _note_state(self) -> None:
        if self.state != self._last_state:
            self._last_state = self.state
            self.state_changed.emit()
