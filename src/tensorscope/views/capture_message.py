"""Said in place of a graph or of tensors while no deep step has been captured, with the way to get one."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from tensorscope.models.session_model import SessionModel


class CaptureMessage(QWidget):
    """What is missing, why, and the button that asks the program for a deep step."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session: SessionModel | None = None
        self._problem = ""
        self._asked_at = -1
        self._text = QLabel(self)
        self._text.setObjectName("captureMessage")
        self._text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._text.setWordWrap(True)
        self._text.setMinimumWidth(self.fontMetrics().averageCharWidth() * 30)
        self._button = QPushButton(self)
        self._button.setObjectName("deepCapture")
        self._button.clicked.connect(self._on_clicked)
        layout = QVBoxLayout(self)
        layout.addStretch(1)
        layout.addWidget(self._text)
        layout.addWidget(self._button, 0, Qt.AlignmentFlag.AlignCenter)
        layout.addStretch(1)
        self._retranslate()

    def set_session(self, session: SessionModel) -> None:
        """Speak of another session."""
        self._session, self._asked_at = session, -1
        self.refresh()

    def show_for(self, empty: bool, problem: str = "") -> None:
        """Show while there is nothing else to show."""
        self._problem = problem
        self.setVisible(empty)
        if empty:
            self.refresh()

    def refresh(self) -> None:
        """Say what the session's state is now."""
        state = self._session.state if self._session else "file"
        known = self._session is not None and bool(self._session.store.hello)
        self._button.setVisible(state == "open")
        if self._problem:
            text = self.tr("The captured step cannot be shown: {reason}.").format(reason=self._problem)
        elif state == "open" and self._asked_at >= 0:
            text = self.tr("Asked the program. The deep step arrives when its next step has ended.")
        elif state == "open":
            text = self.tr("No deep step has been captured yet. It shows the graph and every tensor.")
        elif state == "paused":
            text = self.tr("No deep step has been captured yet. Resume the stream to ask for one.")
        elif known:
            text = self.tr("This session holds no deep step, and the program is not attached any more.")
        else:
            text = self.tr("Attach to a program or open a session file.")
        self._text.setText(text)

    def _on_clicked(self) -> None:
        if self._session is not None:
            self._asked_at = self._session.send("deep")
            self.refresh()

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
            self.refresh()

    def _retranslate(self) -> None:
        self._button.setText(self.tr("Deep capture now"))
        self._text.setAccessibleName(self.tr("Why nothing is shown"))
