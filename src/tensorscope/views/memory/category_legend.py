"""Legend of the memory categories: names, bytes and shares; each can be switched off."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QColor, QIcon, QPixmap
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLabel, QWidget

from tensorscope.core.schema import CATEGORIES
from tensorscope.core.units import MISSING, format_bytes
from tensorscope.models.memory_model import STACK_ORDER
from tensorscope.views.names import Names


class CategoryLegend(QWidget):
    """One row a category, in the order they are stacked, top first; the total below."""

    hidden_changed = Signal()

    def __init__(self, names: Names, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("memoryLegend")
        self._names = names
        grid = QGridLayout(self)
        grid.setContentsMargins(8, 0, 8, 0)
        grid.setVerticalSpacing(2)
        self._heading = [QLabel(self) for _ in range(3)]
        for column, label in enumerate(self._heading):
            label.setAlignment(_align(column))
            grid.addWidget(label, 0, column)
        self._boxes = [QCheckBox(self) for _ in CATEGORIES]
        self._values: list[tuple[QLabel, QLabel]] = [(QLabel(), QLabel())] * len(CATEGORIES)
        for row, category in enumerate(reversed(STACK_ORDER), 1):
            box = self._boxes[category]
            box.setChecked(True)
            box.setObjectName(f"memoryCategory_{CATEGORIES[category]}")
            box.toggled.connect(self.hidden_changed)
            grid.addWidget(box, row, 0)
            self._values[category] = self._add_values(grid, row)
        self._total_name = QLabel(self)
        grid.addWidget(self._total_name, len(CATEGORIES) + 1, 0)
        self._total = self._add_values(grid, len(CATEGORIES) + 1)
        grid.setRowMinimumHeight(len(CATEGORIES) + 1, round(1.6 * self.fontMetrics().height()))
        grid.setColumnMinimumWidth(1, self.fontMetrics().horizontalAdvance("1023 KiB "))
        grid.setColumnMinimumWidth(2, self.fontMetrics().horizontalAdvance("100.0 %"))
        self.retranslate()

    def _add_values(self, grid: QGridLayout, row: int) -> tuple[QLabel, QLabel]:
        labels = QLabel(MISSING, self), QLabel(MISSING, self)
        for column, label in enumerate(labels, 1):
            label.setAlignment(_align(column))
            grid.addWidget(label, row, column)
        return labels

    def retranslate(self) -> None:
        """Set every text again."""
        texts = (self.tr("Category"), self.tr("Bytes"), self.tr("Share"))
        for label, text in zip(self._heading, texts, strict=True):
            label.setText(text)
        for box, name in zip(self._boxes, self._names.categories(), strict=True):
            box.setText(name)
            box.setToolTip(self.tr("Show or hide {category}").format(category=name))
        self._total_name.setText(self.tr("Total"))

    def set_colours(self, colours: tuple[QColor, ...]) -> None:
        """Show the swatch of each category."""
        size = max(8, self.fontMetrics().ascent())
        for box, colour in zip(self._boxes, colours, strict=True):
            swatch = QPixmap(QSize(size, size))
            swatch.fill(colour)
            box.setIcon(QIcon(swatch))
            box.setIconSize(QSize(size, size))

    def set_bytes(self, category_bytes: list[int] | None) -> None:
        """Show what is alive; None where nothing is known."""
        total = sum(category_bytes) if category_bytes is not None else 0
        for category, (size, share) in enumerate(self._values):
            value = category_bytes[category] if category_bytes is not None else None
            size.setText(format_bytes(value))
            share.setText(f"{100 * value / total:.1f} %" if value is not None and total > 0 else MISSING)
        self._total[0].setText(format_bytes(total) if category_bytes is not None else MISSING)
        self._total[1].setText("100 %" if total > 0 else MISSING)

    def hidden_categories(self) -> frozenset[int]:
        """Return the categories that are switched off."""
        return frozenset(index for index, box in enumerate(self._boxes) if not box.isChecked())


def _align(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
