"""Asks which part of a large file should be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QRadioButton,
    QSpinBox,
    QWidget,
)

MOST = 2**31 - 1


class RangeDialog(QDialog):
    """All of it, some events, or some steps. What lives before the range is listed with it."""

    def __init__(self, name: str, summary: Mapping[str, Any], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("rangeDialog")
        self.setWindowTitle(self.tr("Which part of {name}?").format(name=name))
        events = min(int(summary.get("events") or 0), MOST)
        text = self.tr("The file holds {events} allocator events over {seconds} s.").format(
            events=f"{events:,}", seconds=f"{float(summary.get('seconds') or 0):,.3f}"
        )
        self.all = QRadioButton(self.tr("All of it"), self)
        self.some_events = QRadioButton(self.tr("Events"), self)
        self.some_steps = QRadioButton(self.tr("Steps"), self)
        self.all.setChecked(True)
        self.first_event, self.last_event = self._box(0, events, 0), self._box(0, events, events)
        first, last = summary.get("first_step"), summary.get("last_step")
        known = isinstance(first, int) and isinstance(last, int)
        low, high = (int(first or 0), int(last or 0)) if known else (0, 0)
        self.first_step, self.last_step = self._box(low, high, low), self._box(low, high, high)
        self.some_steps.setEnabled(known)
        for box, button in (
            (self.first_event, self.some_events), (self.last_event, self.some_events),
            (self.first_step, self.some_steps), (self.last_step, self.some_steps),
        ):  # fmt: skip
            box.valueChanged.connect(button.click)
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel, self
        )
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        layout = QFormLayout(self)
        layout.addRow(QLabel(text, self))
        layout.addRow(self.all)
        layout.addRow(self.some_events)
        layout.addRow(self.tr("from"), self.first_event)
        layout.addRow(self.tr("to"), self.last_event)
        layout.addRow(self.some_steps)
        layout.addRow(self.tr("from"), self.first_step)
        layout.addRow(self.tr("to"), self.last_step)
        layout.addRow(buttons)

    def _box(self, low: int, high: int, value: int) -> QSpinBox:
        box = QSpinBox(self)
        box.setRange(low, high)
        box.setGroupSeparatorShown(True)
        box.setValue(value)
        return box

    def choice(self) -> tuple[str, str] | None:
        """Return ("events" or "steps", "A:B"), None for all of it."""
        if self.some_events.isChecked():
            low, high = sorted((self.first_event.value(), self.last_event.value()))
            return "events", f"{low}:{high}"
        if self.some_steps.isChecked():
            low, high = sorted((self.first_step.value(), self.last_step.value()))
            return "steps", f"{low}:{high}"
        return None
