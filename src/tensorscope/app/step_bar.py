"""The step slider that moves every view together."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QSlider, QSpinBox, QWidget

from tensorscope.models.session_model import SessionModel


class StepBar(QWidget):
    """Slider and number of the step that is shown. GUI thread."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("stepBar")
        self._session = SessionModel()
        self._updating = False
        self._label = QLabel(self)
        self._slider = QSlider(Qt.Orientation.Horizontal, self)
        self._slider.setObjectName("stepSlider")
        self._slider.setMinimumWidth(120)
        self._spin = QSpinBox(self)
        self._spin.setObjectName("stepSpin")
        self._spin.setKeyboardTracking(False)
        self._spin.setMinimumWidth(self.fontMetrics().horizontalAdvance("0000000000"))
        self._slider.valueChanged.connect(self._on_value)
        self._spin.valueChanged.connect(self._on_value)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 0, 8, 0)
        layout.addWidget(self._label)
        layout.addWidget(self._slider, 1)
        layout.addWidget(self._spin)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.set_session(self._session)
        self._retranslate()

    def set_session(self, session: SessionModel) -> None:
        """Follow another session."""
        for signal in (self._session.data_changed, self._session.step_changed):
            signal.disconnect(self.refresh, missing_ok=True)
        self._session = session
        session.data_changed.connect(self.refresh)
        session.step_changed.connect(self.refresh)
        self.refresh()

    def refresh(self, *_: object) -> None:
        """Show the range and place of the session."""
        last = self._session.last_step
        self._updating = True
        for widget in (self._slider, self._spin):
            widget.setEnabled(last >= 0)
            widget.setRange(0, max(last, 0))
            widget.setValue(max(self._session.current_step, 0))
        self._updating = False

    def _on_value(self, value: int) -> None:
        if not self._updating:
            self._session.go_to_step(value, follow=False)

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()

    def _retranslate(self) -> None:
        self._label.setText(self.tr("Step"))
        self._slider.setAccessibleName(self.tr("Step that every view shows"))
        self._spin.setAccessibleName(self.tr("Number of the step that every view shows"))
