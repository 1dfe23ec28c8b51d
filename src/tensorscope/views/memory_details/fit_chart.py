"""What a setting reserves over time, above what was recorded and what the program held."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QPen
from PySide6.QtWidgets import QWidget

from tensorscope.models.what_if_curves import Curve
from tensorscope.views.items.chart_axes import BytesAxis, SecondsAxis
from tensorscope.views.items.chart_plot import ChartPlot
from tensorscope.views.items.chart_theme import chart_theme, cosmetic, with_alpha


class FitChart(ChartPlot):
    """Three curves and the limit; all of the time is always visible."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(SecondsAxis(), BytesAxis("left"), parent)
        self.setObjectName("fitChart")
        self.setMinimumHeight(7 * self.fontMetrics().height())
        self.box.setMouseEnabled(x=False, y=False)
        self.held = self.add(pg.PlotCurveItem(fillLevel=0), 1)
        self.reference = self.add(pg.PlotCurveItem(), 2)
        self.chosen = self.add(pg.PlotCurveItem(), 3)
        self.limit = self.add(pg.InfiniteLine(angle=0, movable=False), 4)
        self.retheme()

    def retheme(self) -> None:
        """Take the colours of the palette."""
        theme = chart_theme(self)
        self.set_colours(theme.background, theme.text, theme.grid)
        self.held.setPen(cosmetic(QPen(with_alpha(theme.text, 90)), 1))
        self.held.setBrush(QBrush(with_alpha(theme.text, 28)))
        self.reference.setPen(cosmetic(QPen(theme.text), 1.5, Qt.PenStyle.DashLine))
        self.chosen.setPen(cosmetic(QPen(theme.categories[0].lighter(self._light())), 2))
        self.limit.setPen(cosmetic(QPen(theme.warning), 1.5))

    def _light(self) -> int:
        return 165 if chart_theme(self).background.lightness() < 128 else 100

    def show_curves(self, held: Curve, reference: Curve, chosen: Curve, limit_bytes: int | None) -> None:
        """Show them; the limit only where it is near."""
        for item, curve in ((self.held, held), (self.reference, reference), (self.chosen, chosen)):
            item.setData(curve.t_s, curve.size_bytes)
        shown = (held, reference, chosen)
        top = max(float(curve.size_bytes.max()) for curve in shown)
        near = limit_bytes is not None and limit_bytes < 1.5 * top
        self.limit.setVisible(near)
        if near:
            self.limit.setPos(float(limit_bytes or 0))
            top = max(top, float(limit_bytes or 0))
        low = min(float(curve.t_s[0]) for curve in shown)
        high = max(float(curve.t_s[-1]) for curve in shown)
        self.show_range((low, max(high, low + 1e-9)), (0.0, 1.08 * max(top, 1.0)))

    def set_text(self, time: str) -> None:
        """Name the time axis; bytes have their unit at every number."""
        self.getPlotItem().getAxis("bottom").setLabel(time)
