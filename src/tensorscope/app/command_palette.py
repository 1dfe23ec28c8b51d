"""Finds a command by a few of its letters."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QDialog, QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget


def match_score(query: str, text: str) -> int:
    """Return how well `text` holds the letters of `query` in order: 0 not at all, more is better.

    Letters that start a word or follow the one before count more.
    """
    score, at, last = 1, 0, -2
    lowered = text.lower()
    for letter in query.lower().replace(" ", ""):
        at = lowered.find(letter, at)
        if at < 0:
            return 0
        if at == 0 or not lowered[at - 1].isalnum():
            score += 8
        elif at == last + 1:
            score += 5
        else:
            score += 1
        last, at = at, at + 1
    return score


class CommandPalette(QDialog):
    """A line to type in, and the commands that match, best first."""

    def __init__(self, actions: list[QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("commandPalette")
        self.setWindowTitle(self.tr("Find a command"))
        self._actions = [action for action in actions if action.text()]
        self.line = QLineEdit(self)
        self.line.setPlaceholderText(self.tr("Type a few letters"))
        self.list = QListWidget(self)
        self.line.textChanged.connect(self._on_text)
        self.line.returnPressed.connect(self._on_run)
        self.list.itemActivated.connect(self._on_run)
        self.line.installEventFilter(self)
        layout = QVBoxLayout(self)
        layout.addWidget(self.line)
        layout.addWidget(self.list)
        self.resize(self.fontMetrics().averageCharWidth() * 60, self.fontMetrics().height() * 20)
        self._on_text("")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the arrow keys move in the list while the line has the focus."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            move = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()), 0)
            if move:
                self.list.setCurrentRow(max(0, min(self.list.count() - 1, self.list.currentRow() + move)))
                return True
        return super().eventFilter(watched, event)

    def _on_text(self, text: str) -> None:
        self.list.clear()
        plain = [(action.text().replace("&", "").rstrip("…"), action) for action in self._actions]
        scored = [(match_score(text, name), name, action) for name, action in plain]
        for score, name, action in sorted(scored, key=lambda entry: -entry[0]):
            if score and action.isEnabled():
                keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
                item = QListWidgetItem(f"{name}\t{keys}" if keys else name, self.list)
                item.setData(Qt.ItemDataRole.UserRole, self._actions.index(action))
        self.list.setCurrentRow(0)

    def _on_run(self, *_: object) -> None:
        item = self.list.currentItem()
        if item is not None:
            self.accept()
            self._actions[item.data(Qt.ItemDataRole.UserRole)].trigger()
