"""One optimisation with its switch."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QComboBox, QFrame, QGridLayout, QLabel, QPushButton, QWidget

from tensorscope.models.toggles_model import Param, Toggle


class ToggleRow(QFrame):
    """Title, whether it applies and why not, its parameters, and two buttons."""

    switch_asked = Signal(str, bool, dict)
    run_asked = Signal(str, dict)

    def __init__(self, toggle: Toggle, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(f"labToggle_{toggle.name}")
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._title = QLabel(self)
        self._title.setWordWrap(True)
        font = self._title.font()
        font.setBold(True)
        self._title.setFont(font)
        self._note = QLabel(self)
        self._note.setObjectName("labToggleNote")
        self._note.setWordWrap(True)
        self._switch = QPushButton(self)
        self._switch.setObjectName("labToggleSwitch")
        self._switch.clicked.connect(self._on_switch)
        self._run = QPushButton(self)
        self._run.setObjectName("labToggleRun")
        self._run.clicked.connect(self._on_run)
        self._choices = {param.name: self._choice(param, toggle) for param in toggle.params}
        grid = QGridLayout(self)
        grid.addWidget(self._title, 0, 0, 1, 2)
        grid.addWidget(self._note, 1, 0, 1, 2)
        for row, (name, box) in enumerate(self._choices.items(), 2):
            label = QLabel(name, self)
            label.setBuddy(box)
            grid.addWidget(label, row, 0)
            grid.addWidget(box, row, 1)
        grid.addWidget(self._switch, len(self._choices) + 2, 0)
        grid.addWidget(self._run, len(self._choices) + 2, 1)
        grid.setAlignment(Qt.AlignmentFlag.AlignTop)

    def _choice(self, param: Param, toggle: Toggle) -> QComboBox:
        """Return a chooser; what the target refuses is greyed, with the reason as its tooltip."""
        box = QComboBox(self)
        box.setObjectName(f"labChoice_{param.name}")
        box.setAccessibleName(f"{toggle.title}: {param.name}")
        box.addItems(list(param.choices))
        for index, choice in enumerate(param.choices):
            if choice in param.refused:
                box.setItemData(index, param.refused[choice], Qt.ItemDataRole.ToolTipRole)
                model = box.model()
                if isinstance(model, QStandardItemModel):
                    model.item(index).setEnabled(False)
        box.setCurrentText(toggle.chosen.get(param.name, param.default))
        return box

    def _params(self) -> dict[str, str]:
        return {name: box.currentText() for name, box in self._choices.items()}

    def show_toggle(self, toggle: Toggle, live: bool, running: bool) -> None:
        """Show `toggle`; nothing can be switched unless `live`, nor while an A/B run does it."""
        self._toggle = toggle
        self._title.setText(toggle.title)
        self._title.setToolTip(toggle.explain)
        self._note.setToolTip(toggle.explain)
        self._note.setAccessibleDescription(toggle.explain)
        self._note.setText(self._note_text(toggle, live))
        self._switch.setText(self.tr("Switch off") if toggle.on else self.tr("Switch on"))
        self._switch.setAccessibleName(f"{self._switch.text()}: {toggle.title}")
        usable = live and (toggle.ok or toggle.on) and not toggle.pending and not running
        self._switch.setEnabled(usable)
        self._run.setText(self.tr("Run A/B"))
        self._run.setAccessibleName(f"{self._run.text()}: {toggle.title}")
        self._run.setEnabled(usable)
        for box in self._choices.values():
            box.setEnabled(usable and not toggle.on)

    def _note_text(self, toggle: Toggle, live: bool) -> str:
        if toggle.error:
            return self.tr("The target refused: {reason}").format(reason=toggle.error)
        if toggle.pending:
            return self.tr("Waiting for the next step boundary…")
        if not toggle.ok and not toggle.on:
            return self.tr("Not applicable: {reason}").format(reason=toggle.reason)
        state = self.tr("On") if toggle.on else self.tr("Off")
        if toggle.step >= 0:
            state = (
                self.tr("On since step {step}") if toggle.on else self.tr("Off since step {step}")
            ).format(step=toggle.step)
        return f"{state} · {toggle.reason}" if toggle.reason else state

    def _on_switch(self) -> None:
        self.switch_asked.emit(self._toggle.name, not self._toggle.on, self._params())

    def _on_run(self) -> None:
        self.run_asked.emit(self._toggle.name, self._params())
