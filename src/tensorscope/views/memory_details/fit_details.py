"""The chosen setting of the CUDA allocator: what to set, what comes of it, and its curve."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from tensorscope.models.what_if_curves import WhatIfCurves
from tensorscope.models.what_if_result import WhatIf
from tensorscope.views.memory_details.fit_chart import FitChart
from tensorscope.views.memory_details.fit_texts import FitTexts


class FitDetails(QWidget):
    """One row of the table, at length."""

    def __init__(self, texts: FitTexts, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._texts = texts
        self.chart = FitChart(self)
        self._environment, self._outcome, self._legend = QLabel(self), QLabel(self), QLabel(self)
        self._copy = QPushButton(self)
        self._copy.setObjectName("fitCopy")
        self._copy.clicked.connect(self._on_copy)
        self._environment.setObjectName("fitEnvironment")
        self._environment.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        for label, name in ((self._outcome, "fitOutcome"), (self._legend, "fitLegend")):
            label.setObjectName(name)
            label.setWordWrap(True)
        line = QHBoxLayout()
        line.addWidget(self._copy)
        line.addWidget(self._environment, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 2, 6, 2)
        layout.setSpacing(2)
        layout.addLayout(line)
        layout.addWidget(self._outcome)
        layout.addWidget(self.chart, 1)
        layout.addWidget(self._legend)

    def show_row(self, found: WhatIf, curves: WhatIfCurves | None, index: int, untimed: bool) -> None:
        """Show a row of `found`; `untimed`: a microsecond is one event."""
        row = found.rows[index]
        self._environment.setText(self._texts.environment(row.settings))
        self._outcome.setText(self._texts.outcome(row, found))
        self._legend.setText(self._legend_text(found))
        self._make_room()
        self.chart.set_text(self.tr("Million events") if untimed else self.tr("Time (s)"))
        if curves is not None:
            reference = curves.recorded
            if reference is None:
                reference = curves.reserved[next(i for i, one in enumerate(found.rows) if one.is_reference)]
            self.chart.show_curves(curves.held, reference, curves.reserved[index], found.limit_bytes)

    def retranslate(self) -> None:
        """Set the texts that no row changes."""
        self._copy.setText(self.tr("Copy"))
        self._copy.setToolTip(self.tr("Copy what to set before the program starts"))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give texts their room."""
        super().resizeEvent(event)
        self._make_room()

    def _legend_text(self, found: WhatIf) -> str:
        dashed = self.tr("dashed: reserved as recorded")
        if found.recorded is None:
            dashed = self.tr("dashed: reserved with PyTorch's defaults")
        parts = [self.tr("blue: reserved with this setting"), dashed, self.tr("grey: held by the program")]
        if found.limit_bytes is not None:
            parts.append(self.tr("orange: the limit"))
        return " · ".join(parts)

    def _make_room(self) -> None:
        """Give texts of several lines their height, which a splitter does not."""
        for label in (self._outcome, self._legend):
            label.setMinimumHeight(max(0, label.heightForWidth(self.width() - 12)))

    def _on_copy(self) -> None:
        QApplication.clipboard().setText(self._environment.text())
