"""What the comparison of settings can be asked: device, start and limit; run, cancel, progress."""

from __future__ import annotations

import math

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QWidget,
)

GIB = 1 << 30
STARTS = ("empty", "recorded")


class FitBar(QWidget):
    """A row of controls."""

    run_asked = Signal()
    cancel_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.limit_label, self.start_label = QLabel(self), QLabel(self)
        self.limit = QDoubleSpinBox(self)
        self.limit.setObjectName("fitLimit")
        self.limit.setRange(0.0, 16_384.0)
        self.limit.setDecimals(3)
        self.limit.setKeyboardTracking(False)
        self.limit_label.setBuddy(self.limit)
        self.start = QComboBox(self)
        self.start.setObjectName("fitStart")
        self.start.addItems([""] * len(STARTS))
        self.start_label.setBuddy(self.start)
        self.device = QComboBox(self)
        self.device.setObjectName("fitDevice")
        self.run, self.cancel = QPushButton(self), QPushButton(self)
        self.run.setObjectName("fitRun")
        self.cancel.setObjectName("fitCancel")
        self.progress = QProgressBar(self)
        self.progress.setObjectName("fitProgress")
        self.progress.setRange(0, 1000)
        self.progress.setTextVisible(False)
        self.progress.setFixedWidth(10 * self.fontMetrics().averageCharWidth())
        self.run.clicked.connect(self.run_asked)
        self.cancel.clicked.connect(self.cancel_asked)
        self.limit.valueChanged.connect(self._on_changed)
        self.start.activated.connect(self._on_changed)
        self.device.activated.connect(self._on_changed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(6, 4, 6, 0)
        widgets = (self.device, self.limit_label, self.limit, self.start_label, self.start, self.run)
        for widget in (*widgets, self.cancel, self.progress):
            layout.addWidget(widget)
        layout.addStretch(1)
        self.set_running(False)
        self.set_devices(())

    def limit_bytes(self) -> int | None:
        """Return the limit; None without one."""
        return round(self.limit.value() * GIB) or None

    def offer_limit(self, limit_bytes: int) -> None:
        """Take a limit that is known, where the person gave none; asks to run."""
        if self.limit.value() == 0:
            self.limit.setValue(math.ceil(1000 * limit_bytes / GIB) / 1000)

    def clear_limit(self) -> None:
        """Forget the limit, which was that of another session; asks nothing."""
        with QSignalBlocker(self.limit):
            self.limit.setValue(0.0)

    def chosen_start(self) -> str:
        """Return how each setting starts."""
        return STARTS[max(0, self.start.currentIndex())]

    def chosen_device(self) -> int | None:
        """Return the device, None for the one with most events."""
        data = self.device.currentData()
        return int(data) if data is not None else None

    def set_devices(self, devices: tuple[int, ...]) -> None:
        """Offer devices; the choice is hidden where there is none."""
        if [self.device.itemData(row) for row in range(self.device.count())] != list(devices):
            self.device.clear()
            for device in devices:
                self.device.addItem("CPU" if device < 0 else f"CUDA {device}", device)
        self.device.setVisible(len(devices) > 1)

    def set_running(self, running: bool) -> None:
        """Offer to cancel while something runs."""
        self.run.setVisible(not running)
        self.cancel.setVisible(running)
        self.progress.setVisible(running)
        self.progress.setValue(0)

    def set_recorded_start(self, possible: bool) -> None:
        """Offer to start from the recorded state only where one is known."""
        self.start.setVisible(possible)
        self.start_label.setVisible(possible)

    def retranslate(self) -> None:
        """Set every text again."""
        self.limit_label.setText(self.tr("Device memory"))
        self.limit.setSuffix(" GiB")
        self.limit.setSpecialValueText(self.tr("no limit"))
        self.limit.setToolTip(
            self.tr("What the device has for PyTorch's allocator: not the CUDA context, not other programs.")
        )
        self.start_label.setText(self.tr("Start"))
        self.start.setItemText(0, self.tr("empty"))
        self.start.setItemText(1, self.tr("as recorded"))
        self.start.setToolTip(self.tr("What the allocator holds before the first request."))
        self.device.setAccessibleName(self.tr("Device"))
        self.device.setToolTip(self.tr("Device"))
        self.run.setText(self.tr("Compare"))
        self.cancel.setText(self.tr("Cancel"))
        self.progress.setAccessibleName(self.tr("Progress"))

    def _on_changed(self, *_: object) -> None:
        self.run_asked.emit()
