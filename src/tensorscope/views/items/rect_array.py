"""Many rectangles in one call of QPainter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pyqtgraph.Qt.internals import PrimitiveArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

Floats = NDArray[np.float64]


class RectArray:
    """A reusable block of QRectF in one numpy buffer.

    The only place that touches pyqtgraph's private ``PrimitiveArray``: a list of QRectF would be
    packed again at every call.
    """

    def __init__(self) -> None:
        self._array = PrimitiveArray(QRectF, 4)

    def set(self, x0: Floats, y0: Floats, x1: Floats, y1: Floats) -> None:
        """Fill with the rectangles [x0, x1] x [y0, y1]."""
        self._array.resize(len(x0))
        memory = self._array.ndarray()
        memory[:, 0], memory[:, 1] = x0, y0
        np.subtract(x1, x0, out=memory[:, 2])
        np.subtract(y1, y0, out=memory[:, 3])

    def __len__(self) -> int:
        return len(self._array)

    def draw(self, painter: QPainter) -> None:
        """Draw all of them with the pen and brush of `painter`; nothing at all when empty."""
        if len(self._array):
            painter.drawRects(*self._array.drawargs())
