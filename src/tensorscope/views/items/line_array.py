"""Many lines in one call of QPainter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pyqtgraph.Qt.internals import PrimitiveArray
from PySide6.QtCore import QLineF
from PySide6.QtGui import QPainter


class LineArray:
    """A reusable block of QLineF in one numpy buffer; see `RectArray`."""

    def __init__(self) -> None:
        self._array = PrimitiveArray(QLineF, 4)

    def set(self, lines: NDArray[np.float64]) -> None:
        """Fill with (n, 4): x0, y0, x1, y1."""
        self._array.resize(len(lines))
        self._array.ndarray()[:] = lines

    def draw(self, painter: QPainter) -> None:
        """Draw all of them with the pen of `painter`; nothing at all when empty."""
        if len(self._array):
            painter.drawLines(*self._array.drawargs())
