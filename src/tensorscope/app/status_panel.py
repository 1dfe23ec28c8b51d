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
        self._session: SessionModel | None = None
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

    def set_session(self, session: SessionModel | None) -> None:
        """Speak of another session; of none, say nothing."""
        self._session = session
        self.refresh()

    def text(self, field: str) -> str:
        """Return what a field says now."""
        return self._labels[field].text()

    def refresh(self) -> None:
        """Show what is so now."""
        session = self._session
        texts = dict.fromkeys(_FIELDS, "") if session is None else self._texts(session)
        for name, text in texts.items():
            if self._labels[name].text() != text:
                self._labels[name].setText(text)
        note = "" if session is None else str(session.store.hello.get("recorder_note", ""))
        self._labels["recorder"].setToolTip(note)

    def _texts(self, session: SessionModel) -> dict[str, str]:
        hello = session.store.hello
        recorder = self.tr("memory: {kind}").format(kind=hello.get("recorder", MISSING))
        return {
            "state": self._state(session),
            "target": self._target(session) if hello else session.title,
            "step": self.tr("step {n}").format(n=session.current_step if session.recorded_steps else MISSING),
            "level": self._level(session) if hello else "",
            "overhead": self._overhead(session),
            "dropped": self.tr("dropped {n}").format(n=session.store.heartbeat.get("dropped_frames", 0)),
            "recorder": recorder if hello else "",
        }

    def _state(self, session: SessionModel) -> str:
        names = {
            "file": self.tr("File"),
            "connecting": self.tr("Connecting…"),
            "open": self.tr("Live"),
            "paused": self.tr("Paused"),
            "closed": self.tr("Ended"),
            "lost": self.tr("Lost"),
        }
        text = names.get(session.state, session.state)
        if session.recording is not None:
            text += " · " + self.tr("recording")
        return text

    def _target(self, session: SessionModel) -> str:
        hello = session.store.hello
        script = PurePath(str(hello.get("script", ""))).name or MISSING
        return self.tr("{script} (pid {pid}, torch {torch})").format(
            script=script, pid=hello.get("pid", MISSING), torch=hello.get("torch", MISSING)
        )

    def _level(self, session: SessionModel) -> str:
        steps = session.store.tables["step"]
        level = LEVELS[int(steps["level"][-1])] if len(steps) else str(session.store.hello.get("level"))
        return self.tr("level {name}").format(name=level)

    def _overhead(self, session: SessionModel) -> str:
        percent = overhead_percent(session)
        return self.tr("overhead {value}").format(value=MISSING if percent is None else f"{percent:.2f} %")

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self.refresh()
