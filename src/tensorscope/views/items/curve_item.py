"""A line whose bounds cost nothing: those of the view."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import QRectF


class CurveItem(pg.PlotCurveItem):
    """A curve that is given only the part in view, so that it need not look for its own extent.

    The stock item searches its data for it in every frame, more than once. Nothing may fit the view to it.
    """

    def boundingRect(self) -> QRectF:
        """Return the view."""
        return self.viewRect() or QRectF()
