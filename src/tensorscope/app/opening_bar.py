"""What is being opened, how far that is, and a way to give it up."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QToolButton, QWidget

from tensorscope.app.session_opening import Opening


class OpeningBar(QWidget):
    """Name, progress and a cancel button; only there while something is being opened. GUI thread."""

    cancelled = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("openingBar")
        self._opening: Opening | None = None
        self._label = QLabel(self)
        self._progress = QProgressBar(self)
        self._progress.setTextVisible(False)
        self._progress.setFixedWidth(self.fontMetrics().averageCharWidth() * 24)
        self._cancel = QToolButton(self)
        self._cancel.setObjectName("cancelOpening")
        self._cancel.clicked.connect(self.cancelled)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        for widget in (self._label, self._progress, self._cancel):
            layout.addWidget(widget)
        self.follow(None)

    def follow(self, opening: Opening | None) -> None:
        """Speak of `opening` from now on; of None, be hidden."""
        if self._opening is not None:
            self._opening.progressed.disconnect(self._on_progress)
        self._opening = opening
        if opening is not None:
            self._progress.setRange(0, 0)  # busy, until its size is known
            opening.progressed.connect(self._on_progress)
        self._retranslate()
        self.setVisible(opening is not None)

    def _on_progress(self, done: int, total: int) -> None:
        self._progress.setRange(0, max(total, 1))
        self._progress.setValue(done)

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()

    def _retranslate(self) -> None:
        name = "" if self._opening is None else self._opening.name
        self._label.setText(self.tr("Opening {name}").format(name=name) if name else "")
        self._progress.setAccessibleName(self.tr("How far the opening is"))
        self._cancel.setText(self.tr("Cancel"))
