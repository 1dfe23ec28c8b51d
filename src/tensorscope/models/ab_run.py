"""Switches one optimisation on and off at step boundaries, in blocks, so that both see the same weather."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psygnal import Signal

from tensorscope.models.session_model import SessionModel

WAITING, MEASURING, DONE, FAILED, STOPPED = "waiting", "measuring", "done", "failed", "stopped"


class AbRun:
    """One run of blocks A B A B ... A (off, on, ..., off): each B has an A on both sides.

    It follows the stream: call `advance` when data came, `on_reply` for each reply. Whatever
    happens, the toggle is left as it was found.
    """

    changed = Signal()

    def __init__(
        self,
        session: SessionModel,
        name: str,
        params: Mapping[str, Any],
        was_on: bool,
        steps_per_block: int = 8,
        pairs: int = 8,
    ) -> None:
        self._session = session
        self.name = name
        self._params = dict(params)
        self._was_on = self._asked_on = was_on
        self.steps_per_block = steps_per_block
        self.blocks = 2 * pairs + 1
        self.block = 0
        self.first_step = session.last_step + 1
        self.state = WAITING
        self.problem = ""
        self._command = -1
        self._block_step = -1

    @property
    def active(self) -> bool:
        """Whether it still switches."""
        return self.state in (WAITING, MEASURING)

    @property
    def steps_done(self) -> int:
        """Steps measured in the current block."""
        if self.state != MEASURING:
            return 0
        return max(0, min(self.steps_per_block, self._session.last_step + 1 - self._block_step))

    def start(self) -> None:
        """Ask for the first block."""
        self._switch(on=False)

    def stop(self) -> None:
        """Give up; the toggle goes back to what it was."""
        if self.active:
            self._finish(STOPPED)

    def on_reply(self, meta: Mapping[str, Any]) -> None:
        """Take in a ``reply``; those to other commands are ignored."""
        if not self.active or self._command < 0 or meta.get("id") != self._command:
            return
        self._command = -1
        if not meta.get("ok"):
            self.problem = str(meta.get("error") or "")
            self._finish(FAILED)
            return
        step = meta.get("step")
        self._block_step = step if isinstance(step, int) else self._session.last_step + 1
        if self.block == 0:
            self.first_step = self._block_step
        self.state = MEASURING
        self.changed.emit()

    def advance(self) -> None:
        """Go to the next block when this one has enough steps."""
        if self.active and self._session.state not in ("open", "paused"):
            self._finish(FAILED)
        elif self.state == MEASURING and self.steps_done >= self.steps_per_block:
            self.block += 1
            if self.block == self.blocks:
                self._finish(DONE)
            else:
                self._switch(on=self.block % 2 == 1)

    def _switch(self, on: bool) -> None:
        self.state, self._asked_on = WAITING, on
        self._command = self._session.send("toggle", name=self.name, on=on, params=self._params)
        if self._command < 0:
            self._finish(FAILED)
        self.changed.emit()

    def _finish(self, state: str) -> None:
        self.state = state
        if self._asked_on != self._was_on:
            self._session.send("toggle", name=self.name, on=self._was_on, params=self._params)
        self.changed.emit()
