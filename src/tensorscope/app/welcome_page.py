"""What the window shows while no session is open."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QLabel, QListWidget, QListWidgetItem, QPushButton, QVBoxLayout, QWidget

from tensorscope.app.actions import ActionRegistry

_BUTTONS = ("file.demo", "file.open", "file.attach")


class WelcomePage(QWidget):
    """Three ways to begin, and the files of last time."""

    file_requested = Signal(str)

    def __init__(self, actions: ActionRegistry, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("welcomePage")
        self._actions = actions
        self._title = QLabel("TensorScope", self)
        font = self._title.font()
        font.setPointSizeF(font.pointSizeF() * 2.2)
        font.setBold(True)
        self._title.setFont(font)
        self._lead, self._hint, self._recent_title = QLabel(self), QLabel(self), QLabel(self)
        for label in (self._lead, self._hint):
            label.setWordWrap(True)
        self._buttons = {name: QPushButton(self) for name in _BUTTONS}
        for name, button in self._buttons.items():
            button.setObjectName(f"welcome_{name}")
            button.setMinimumHeight(int(button.sizeHint().height() * 1.4))
            button.clicked.connect(actions[name].trigger)
        self._recent = QListWidget(self)
        self._recent.setObjectName("recentFiles")
        self._recent.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._recent.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._recent.itemActivated.connect(self._on_item)
        self._lay_out()
        self._retranslate()

    def _lay_out(self) -> None:
        column = QWidget(self)
        column.setFixedWidth(self.fontMetrics().averageCharWidth() * 76)
        layout = QVBoxLayout(column)
        layout.setSpacing(self.fontMetrics().height() // 2)
        layout.addStretch(2)
        layout.addWidget(self._title)
        layout.addWidget(self._lead)
        layout.addSpacing(self.fontMetrics().height())
        for button in self._buttons.values():
            layout.addWidget(button)
        layout.addSpacing(self.fontMetrics().height())
        layout.addWidget(self._recent_title)
        layout.addWidget(self._recent)
        layout.addWidget(self._hint)
        layout.addStretch(3)
        outer = QVBoxLayout(self)
        outer.addWidget(column, 1, Qt.AlignmentFlag.AlignHCenter)

    def show_recent(self, paths: list[str]) -> None:
        """List recent files; those that are gone are greyed."""
        self._recent.clear()
        for path in paths:
            item = QListWidgetItem(path, self._recent)
            if not Path(path).exists():
                item.setFlags(Qt.ItemFlag.NoItemFlags)
            item.setToolTip(path)
        row = self._recent.sizeHintForRow(0) if paths else 0
        self._recent.setFixedHeight(row * max(2, min(len(paths), 8)) + 2 * self._recent.frameWidth() + 2)
        self._recent.setVisible(bool(paths))
        self._recent_title.setVisible(bool(paths))

    def _on_item(self, item: QListWidgetItem) -> None:
        self.file_requested.emit(item.text())

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()

    def _retranslate(self) -> None:
        self._actions.retranslate()
        self._lead.setText(self.tr("See what a running PyTorch program really does."))
        self._recent_title.setText(self.tr("Recent files"))
        self._hint.setText(
            self.tr("You can also drop a session file here. Any script: tensorscope run SCRIPT")
        )
        self._recent.setAccessibleName(self.tr("Recent files"))
        for name, button in self._buttons.items():
            button.setText(self._actions[name].text())
            button.setToolTip(self._actions[name].toolTip())
