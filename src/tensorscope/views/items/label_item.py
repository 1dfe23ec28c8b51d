"""Short texts in data coordinates, each only where it fits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QTransform
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from tensorscope.views.items.rect_array import Floats

MAX_LABELS = 300
_CENTRED = Qt.AlignmentFlag.AlignCenter


class LabelItem(pg.GraphicsObject):
    """Texts centred in [x0, x1] x [y0, y1], left out where the box is too narrow for them.

    One item however many labels; the text keeps its size at any zoom.
    """

    def __init__(self) -> None:
        super().__init__()
        self.font = QFont()
        self.plate: QColor | None = None
        """Painted behind each text, so that lines do not cross it."""
        self.drawn = 0
        """Labels drawn by the last paint (tests)."""
        nothing = np.empty(0)
        self.set_labels(nothing, nothing, nothing, nothing, [], [])

    def set_labels(
        self, x0: Floats, x1: Floats, y0: Floats, y1: Floats, texts: Sequence[str], colours: Sequence[QColor]
    ) -> None:
        """Show `texts`; boxes in data coordinates, one colour each."""
        self._boxes = np.stack([x0, x1, y0, y1], axis=1)
        self._texts, self._colours = list(texts), list(colours)
        self._bounds = QRectF()
        if len(self._boxes):
            left, top = float(np.min(x0)), float(np.min(y0))
            self._bounds = QRectF(left, top, float(np.max(x1)) - left, float(np.max(y1)) - top)
        self.prepareGeometryChange()
        self.update()

    def boundingRect(self) -> QRectF:
        """Return the bounds of all boxes."""
        return self._bounds

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """Draw the labels that are in the view and fit, at most `MAX_LABELS`."""
        self.drawn = 0
        view = self.viewRect()
        if view is None or not self._texts:
            return
        transform = painter.transform()
        metrics = QFontMetricsF(self.font)
        painter.setFont(self.font)
        painter.setTransform(QTransform())
        for (x0, x1, y0, y1), text, colour in zip(self._boxes, self._texts, self._colours, strict=True):
            left, right = max(x0, view.left()), min(x1, view.right())
            if left >= right or self.drawn >= MAX_LABELS:
                continue
            box = QRectF(transform.map(QPointF(left, y0)), transform.map(QPointF(right, y1))).normalized()
            if metrics.horizontalAdvance(text) + 4 <= box.width():
                if self.plate is not None:
                    painter.fillRect(
                        metrics.boundingRect(box, _CENTRED, text).adjusted(-3, 0, 3, 0), self.plate
                    )
                painter.setPen(colour)
                painter.drawText(box, _CENTRED, text)
                self.drawn += 1
        painter.setTransform(transform)
