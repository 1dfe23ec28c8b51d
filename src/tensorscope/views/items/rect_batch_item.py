"""One layer of rectangles in classes, one call of QPainter for each class that is visible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from tensorscope.views.items.rect_array import Floats, RectArray

CLIP_MARGIN = 0.05
"""Rectangles are cut to the view and this share of it: beyond about 1e7 views Qt loses them."""


class RectBatchItem(pg.GraphicsObject):
    """Rectangles in data coordinates, drawn from arrays, culled and clipped to the view.

    Set `pen` to outline them (cosmetic); by default they are filled only. Hit tests go through
    `row_at`, never through the scene.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pen = QPen(Qt.PenStyle.NoPen)
        self._brushes: list[QBrush] = []
        self._arrays: list[RectArray] = []
        nothing = np.empty(0)
        self.set_rects(nothing, nothing, nothing, nothing, np.empty(0, np.uint8))

    def set_brushes(self, brushes: Sequence[QBrush]) -> None:
        """Set the fill of each class id."""
        self._brushes = list(brushes)
        self._arrays = [RectArray() for _ in self._brushes]
        self.update()

    def set_rects(
        self, x0: Floats, x1: Floats, y0: Floats, y1: Floats, class_ids: NDArray[np.integer]
    ) -> None:
        """Show [x0, x1] x [y0, y1] in the brush of each class; keeps the arrays, copies nothing."""
        self._x0, self._x1, self._y0, self._y1, self._class_ids = x0, x1, y0, y1, class_ids
        self._bounds = QRectF()
        if len(x0):
            left, top = float(x0.min()), float(y0.min())
            self._bounds = QRectF(left, top, float(x1.max()) - left, float(y1.max()) - top)
        self.prepareGeometryChange()
        self.informViewBoundsChanged()
        self.update()

    def row_at(self, x: float, y: float) -> int:
        """Return the last (topmost) rectangle that holds the point, -1 if none."""
        inside = (self._x0 <= x) & (x < self._x1) & (self._y0 <= y) & (y < self._y1)
        rows = np.flatnonzero(inside)
        return int(rows[-1]) if len(rows) else -1

    def class_at(self, x: float, y: float) -> int:
        """Return the class of `row_at`, -1 if there is no rectangle."""
        row = self.row_at(x, y)
        return int(self._class_ids[row]) if row >= 0 else -1

    def boundingRect(self) -> QRectF:
        """Return the bounds of all rectangles."""
        return self._bounds

    def visible_rows(self, view: QRectF) -> NDArray[np.intp]:
        """Return the rows that touch `view`."""
        touching = (self._x1 >= view.left()) & (self._x0 <= view.right())
        touching &= (self._y1 >= view.top()) & (self._y0 <= view.bottom())
        return np.flatnonzero(touching)

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """Draw what is in the view: at most one ``drawRects`` for each class."""
        view = self.viewRect()
        if view is None or not len(self._x0):
            return
        grow_x, grow_y = view.width() * CLIP_MARGIN, view.height() * CLIP_MARGIN
        view = view.adjusted(-grow_x, -grow_y, grow_x, grow_y)
        rows = self.visible_rows(view)
        x0 = np.clip(self._x0[rows], view.left(), view.right())
        x1 = np.clip(self._x1[rows], view.left(), view.right())
        y0 = np.clip(self._y0[rows], view.top(), view.bottom())
        y1 = np.clip(self._y1[rows], view.top(), view.bottom())
        painter.setPen(self.pen)
        for class_id, (brush, array) in enumerate(zip(self._brushes, self._arrays, strict=True)):
            mine = self._class_ids[rows] == class_id
            if mine.any():
                array.set(x0[mine], y0[mine], x1[mine], y1[mine])
                painter.setBrush(brush)
                array.draw(painter)
