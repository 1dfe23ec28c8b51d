"""Vertical lines at moments, one layer for all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QLineF, QPointF, QRectF
from PySide6.QtGui import QPainter, QPen, QTransform
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from tensorscope.views.items.rect_array import Floats

CROWDED = 60
"""With more lines of a kind in the view, they are cut to a strip that shows how dense they are."""
STRIP = 0.03
"""Height of that strip, in heights of the view."""


class MarkItem(pg.GraphicsObject):
    """Lines across a part of the view's height. The caller gives at most one a pixel and kind."""

    def __init__(self) -> None:
        super().__init__()
        self._pens: list[QPen] = []
        self._spans: list[tuple[float, float]] = []
        self.drawn_spans: dict[int, tuple[float, float]] = {}
        """Extent of each kind as it was painted last (tests)."""
        self.set_marks(np.empty(0), np.empty(0, np.int64))

    def set_looks(self, pens: Sequence[QPen], spans: Sequence[tuple[float, float]]) -> None:
        """Set pen and extent (shares of the view's height from its bottom) of each kind."""
        self._pens, self._spans = list(pens), list(spans)
        self.update()

    def set_marks(self, x: Floats, kind: np.ndarray) -> None:
        """Show marks at `x` in data coordinates."""
        self._x, self._kind = x, kind
        self.prepareGeometryChange()
        self.informViewBoundsChanged()
        self.update()

    def boundingRect(self) -> QRectF:
        """Return the whole view: lines reach across it."""
        view = self.viewRect()
        return view if view is not None else QRectF()

    def viewRangeChanged(self) -> None:
        """The bounds follow the view."""
        self.prepareGeometryChange()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """Draw the marks in the view."""
        view = self.viewRect()
        if view is None or not len(self._x):
            return
        transform = painter.transform()
        low = transform.map(QPointF(view.left(), view.top())).y()  # data's y grows upwards
        high = transform.map(QPointF(view.left(), view.bottom())).y()
        seen = (self._x >= view.left()) & (self._x <= view.right())
        painter.setTransform(QTransform())
        for kind, (pen, span) in enumerate(zip(self._pens, self._spans, strict=True)):
            mine = self._x[seen & (self._kind == kind)].tolist()
            begin, end = span if len(mine) <= CROWDED else (span[0], min(span[1], span[0] + STRIP))
            y0, y1 = (low + share * (high - low) for share in (begin, end))
            self.drawn_spans[kind] = begin, end
            painter.setPen(pen)
            for x in mine:
                at = transform.map(QPointF(x, view.top())).x()
                painter.drawLine(QLineF(at, y0, at, y1))
        painter.setTransform(transform)
