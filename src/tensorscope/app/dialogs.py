"""Small dialogs: attach, keyboard shortcuts."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from tensorscope.app.actions import ActionRegistry


class AttachDialog(QDialog):
    """Asks for the address of a program that runs."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("attachDialog")
        self.setWindowTitle(self.tr("Attach to a program"))
        self.address = QLineEdit(self)
        self.address.setObjectName("attachAddress")
        self.address.setPlaceholderText("12345, unix:/…/12345.sock, tcp:127.0.0.1:7000")
        self.address.setMinimumWidth(self.fontMetrics().averageCharWidth() * 50)
        self.token = QLineEdit(self)
        self.token.setObjectName("attachToken")
        self.token.setEchoMode(QLineEdit.EchoMode.Password)
        self.token.setPlaceholderText(self.tr("only for tcp"))
        hint = QLabel(self.tr("Start the program with: tensorscope run --headless SCRIPT"), self)
        hint.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel, self
        )
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        layout = QFormLayout(self)
        layout.addRow(self.tr("Process id or address"), self.address)
        layout.addRow(self.tr("Token"), self.token)
        layout.addRow(hint)
        layout.addRow(buttons)


class ShortcutsDialog(QDialog):
    """Every command that has a key, from the registry, and the keys of the views."""

    def __init__(self, actions: ActionRegistry, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("shortcutsDialog")
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        rows = [
            (action.shortcut().toString(QKeySequence.SequenceFormat.NativeText), action.statusTip())
            for action in actions
            if not action.shortcut().isEmpty()
        ]
        rows += self._view_keys()
        table = QTableWidget(len(rows), 2, self)
        table.setHorizontalHeaderLabels([self.tr("Key"), self.tr("What it does")])
        table.verticalHeader().hide()
        table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        table.horizontalHeader().setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        for row, texts in enumerate(rows):
            for column, text in enumerate(texts):
                table.setItem(row, column, QTableWidgetItem(text))
        table.resizeColumnToContents(0)
        layout = QVBoxLayout(self)
        layout.addWidget(table)
        self.resize(self.fontMetrics().averageCharWidth() * 80, self.fontMetrics().height() * 30)

    def _view_keys(self) -> list[tuple[str, str]]:
        return [
            ("Ctrl+1 … Ctrl+7", self.tr("Show the first to the seventh panel")),
            ("W / S", self.tr("Zoom a chart in and out")),
            ("A / D", self.tr("Move a chart left and right")),
            ("F", self.tr("Fit everything into the view")),
            ("[ / ]", self.tr("Previous and next memory peak")),
            ("/", self.tr("Search in the graph")),
        ]
