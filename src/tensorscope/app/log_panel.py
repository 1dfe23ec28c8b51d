"""The log window: what we, the agent and Qt had to say."""

from __future__ import annotations

import logging

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget

MAX_LINES = 5000
LOGGER = logging.getLogger("tensorscope")


class LogSignal(QObject):
    """Lives in the GUI thread; its signal may be emitted from any thread."""

    line = Signal(str, int)


class LogHandler(logging.Handler):
    """Hands records to the GUI thread. Apart from the signal, whose life ends with the window."""

    def __init__(self, signal: LogSignal) -> None:
        super().__init__()
        self._signal = signal
        self.setFormatter(logging.Formatter("%(asctime)s  %(levelname)-7s  %(message)s", "%H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        """Emit one formatted record."""
        try:
            self._signal.line.emit(self.format(record), record.levelno)
        except RuntimeError:  # the window is gone
            LOGGER.removeHandler(self)


class LogPanel(QWidget):
    """Lines of text, the newest last; at most `MAX_LINES`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("logPanel")
        self._text = QPlainTextEdit(self)
        self._text.setObjectName("logText")
        self._text.setReadOnly(True)
        self._text.setMaximumBlockCount(MAX_LINES)
        self._text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._text)
        self.signal = LogSignal(self)
        self.signal.line.connect(self._on_line)
        self._handler = LogHandler(self.signal)
        LOGGER.addHandler(self._handler)
        LOGGER.setLevel(logging.INFO)
        self._retranslate()

    def detach(self) -> None:
        """Take in no more lines."""
        LOGGER.removeHandler(self._handler)

    def text(self) -> str:
        """Return all lines."""
        return self._text.toPlainText()

    def _on_line(self, line: str, _level: int) -> None:
        self._text.appendPlainText(line)

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()

    def _retranslate(self) -> None:
        self._text.setAccessibleName(self.tr("Log"))
        self._text.setPlaceholderText(self.tr("Nothing has happened yet."))
