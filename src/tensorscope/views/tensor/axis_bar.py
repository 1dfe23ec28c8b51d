"""Which two axes the grid shows, and where it stands on the others."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QComboBox, QGridLayout, QHBoxLayout, QLabel, QSlider, QWidget

MAX_SLIDER = (1 << 31) - 1


class AxisBar(QWidget):
    """Two combo boxes, and one slider for every axis that is not shown."""

    axes_changed = Signal(int, int)
    index_changed = Signal(int, int)  # axis, value

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._sizes: tuple[int, ...] = ()
        self._axes = (-1, -1)
        self._values: list[int] = []
        self._row, self._column = QComboBox(self), QComboBox(self)
        self._row.setObjectName("rowAxis")
        self._column.setObjectName("columnAxis")
        self._row_label, self._column_label = QLabel(self), QLabel(self)
        for label, box in ((self._row_label, self._row), (self._column_label, self._column)):
            label.setBuddy(box)
            box.activated.connect(self._on_axis)
        line = QHBoxLayout()
        line.setContentsMargins(0, 0, 0, 0)
        for widget in (self._row_label, self._row, self._column_label, self._column):
            line.addWidget(widget)
        line.addStretch(1)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(8, 2, 8, 2)
        self._grid.setVerticalSpacing(2)
        self._grid.addLayout(line, 0, 0, 1, 4)
        self._sliders: list[tuple[int, QLabel, QSlider]] = []
        self._retranslate()

    def show_axes(self, sizes: tuple[int, ...], axes: tuple[int, int], index: list[int]) -> None:
        """Show the axes of another tensor."""
        self._sizes, self._axes, self._values = sizes, axes, list(index)
        for box, at in ((self._row, axes[0]), (self._column, axes[1])):
            with QSignalBlocker(box):
                box.clear()
                for axis, size in enumerate(sizes):
                    box.addItem(self.tr("axis {axis} · {size}").format(axis=axis, size=f"{size:,}"), axis)
                box.setCurrentIndex(at)
        for widget in (self._row_label, self._row, self._column_label, self._column):
            widget.setVisible(len(sizes) > 1)
        self._build_sliders()

    def step(self, direction: int) -> None:
        """Move the first slider by one."""
        if self._sliders:
            slider = self._sliders[0][2]
            slider.setValue(slider.value() + direction)

    def _build_sliders(self) -> None:
        for _, label, slider in self._sliders:
            label.deleteLater()
            slider.hide()
            slider.deleteLater()
            label.hide()
        self._sliders = []
        fixed = [axis for axis in range(len(self._sizes)) if axis not in self._axes]
        for place, axis in enumerate(fixed):
            label, slider = QLabel(self), QSlider(Qt.Orientation.Horizontal, self)
            slider.setObjectName(f"axisSlider{axis}")
            slider.setProperty("axis", axis)
            slider.setRange(0, min(MAX_SLIDER, max(0, self._sizes[axis] - 1)))
            slider.setValue(self._values[axis])
            slider.setMinimumWidth(50)
            slider.valueChanged.connect(self._on_slider)
            row, column = 1 + place // 2, 2 * (place % 2)
            self._grid.addWidget(label, row, column)
            self._grid.addWidget(slider, row, column + 1)
            self._sliders.append((axis, label, slider))
        self._label_sliders()

    def _label_sliders(self) -> None:
        for axis, label, slider in self._sliders:
            text = self.tr("axis {axis}: {value} of {size}").format(
                axis=axis, value=slider.value(), size=f"{self._sizes[axis]:,}"
            )
            label.setText(text)
            slider.setAccessibleName(text)

    def _on_slider(self, value: int) -> None:
        axis = self.sender().property("axis")
        self._values[axis] = value
        self._label_sliders()
        self.index_changed.emit(axis, value)

    def _on_axis(self) -> None:
        row, column = self._row.currentIndex(), self._column.currentIndex()
        if row == column:  # the axis that was here before moves to the other side
            row, column = (row, self._axes[0]) if row != self._axes[0] else (self._axes[1], column)
        self._axes = (row, column)
        self.show_axes(self._sizes, self._axes, self._values)
        self.axes_changed.emit(row, column)

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
            self.show_axes(self._sizes, self._axes, self._values)

    def _retranslate(self) -> None:
        self._row_label.setText(self.tr("Rows"))
        self._column_label.setText(self.tr("Columns"))
