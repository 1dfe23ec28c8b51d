"""The status bar: what is looked at, how far it is, and what looking costs."""

from __future__ import annotations

from pathlib import PurePath

import numpy as np
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from tensorscope.app.theme import tabular
from tensorscope.core.schema import LEVELS
from tensorscope.core.units import MISSING
from tensorscope.models.session_model import SessionModel

OVERHEAD_STEPS = 32
_FIELDS = ("state", "target", "step", "level", "overhead", "dropped", "recorder")


def overhead_percent(session: SessionModel) -> float | None:
    """Return the agent's median share of the newest steps' time, None where no step is known."""
    steps = session.store.tables["step"]
    if not len(steps):
        return None
    agent = steps["agent_ns"][-OVERHEAD_STEPS:].astype(np.float64)
    wall = (steps["t1_ns"] - steps["t0_ns"])[-OVERHEAD_STEPS:].astype(np.float64)
    known = wall > 0
    return float(np.median(100 * agent[known] / wall[known])) if known.any() else None


class StatusPanel(QWidget):
    """One selectable text a field. GUI thread."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("statusPanel")
        self._session = SessionModel()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 0, 8, 0)
        layout.setSpacing(self.fontMetrics().averageCharWidth() * 3)
        self._labels: dict[str, QLabel] = {}
        for name in _FIELDS:
            label = QLabel(self)
            label.setObjectName(f"status_{name}")
            label.setFont(tabular(label.font()))
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            layout.addWidget(label)
            self._labels[name] = label
        layout.addStretch(1)

    def set_session(self, session: SessionModel) -> None:
        """Speak of another session."""
        self._session = session
        self.refresh()

    def text(self, field: str) -> str:
        """Return what a field says now."""
        return self._labels[field].text()

    def refresh(self) -> None:
        """Show what is so now."""
        store = self._session.store
        hello = store.hello
        texts = {
            "state": self._state(),
            "target": self._target() if hello else self._session.title,
            "step": self.tr("step {n}").format(
                n=self._session.current_step if len(store.tables["step"]) else MISSING
            ),
            "level": self._level() if hello else "",
            "overhead": self._overhead(),
            "dropped": self.tr("dropped {n}").format(n=store.heartbeat.get("dropped_frames", 0)),
            "recorder": self.tr("memory: {kind}").format(kind=hello.get("recorder", MISSING))
            if hello
            else "",
        }
        for name, text in texts.items():
            if self._labels[name].text() != text:
                self._labels[name].setText(text)
        self._labels["recorder"].setToolTip(str(hello.get("recorder_note", "")))

    def _state(self) -> str:
        names = {
            "file": self.tr("File"),
            "connecting": self.tr("Connecting…"),
            "open": self.tr("Live"),
            "paused": self.tr("Paused"),
            "closed": self.tr("Ended"),
            "lost": self.tr("Lost"),
        }
        text = names.get(self._session.state, self._session.state)
        if self._session.recording is not None:
            text += " · " + self.tr("recording")
        return text

    def _target(self) -> str:
        hello = self._session.store.hello
        script = PurePath(str(hello.get("script", ""))).name or MISSING
        return self.tr("{script} (pid {pid}, torch {torch})").format(
            script=script, pid=hello.get("pid", MISSING), torch=hello.get("torch", MISSING)
        )

    def _level(self) -> str:
        steps = self._session.store.tables["step"]
        level = LEVELS[int(steps["level"][-1])] if len(steps) else str(self._session.store.hello.get("level"))
        return self.tr("level {name}").format(name=level)

    def _overhead(self) -> str:
        percent = overhead_percent(self._session)
        return self.tr("overhead {value}").format(value=MISSING if percent is None else f"{percent:.2f} %")

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self.refresh()
