"""Live bytes of two sides over a normalised step."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QPen
from PySide6.QtWidgets import QWidget

from tensorscope.models.comparison import PARTS, Comparison, Curve
from tensorscope.views.items.chart_axes import BytesAxis, ChartAxis
from tensorscope.views.items.chart_plot import ChartPlot
from tensorscope.views.items.chart_theme import chart_theme, cosmetic, with_alpha


class PhaseAxis(ChartAxis):
    """Names the three stretches of a step in their middles."""

    def __init__(self) -> None:
        super().__init__("bottom")
        self.names = ["", "", ""]

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        """Return the middles of the stretches."""
        return [(1.0, [0.5, 1.5, 2.5])]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return the names of the phases."""
        return [self.names[min(2, max(0, int(value)))] for value in values]


class CompareChart(ChartPlot):
    """A as a solid line, B as a dashed one, each with the band of its steps."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self.phase_axis = PhaseAxis()
        super().__init__(self.phase_axis, BytesAxis("left"), parent)
        self.setObjectName("compareChart")
        self.box.setMouseEnabled(x=False, y=False)
        self._lines = [self.add(pg.PlotCurveItem(), 3) for _ in range(2)]
        self._edges = [[self.add(pg.PlotCurveItem(), 1) for _ in range(2)] for _ in range(2)]
        self._bands = [self.add(pg.FillBetweenItem(*pair), 0) for pair in self._edges]
        self._borders = [self.add(pg.InfiniteLine(at, angle=90), 2) for at in (1.0, 2.0)]

    def retheme(self) -> None:
        """Take the colours of the palette."""
        theme = chart_theme(self)
        self.set_colours(theme.background, theme.text, theme.grid)
        for number, (index, style) in enumerate(((0, Qt.PenStyle.SolidLine), (1, Qt.PenStyle.DashLine))):
            colour = theme.categories[index]
            self._lines[number].setPen(cosmetic(QPen(colour), 2, style))
            self._bands[number].setBrush(QBrush(with_alpha(colour, 50)))
            for edge in self._edges[number]:
                edge.setPen(QPen(Qt.PenStyle.NoPen))
        for border in self._borders:
            border.setPen(cosmetic(QPen(theme.grid), 1))

    def show_comparison(self, found: Comparison) -> None:
        """Show both curves."""
        top = 1.0
        for number, curve in enumerate((found.curve_a, found.curve_b)):
            top = max(top, self._show(number, curve))
        self.show_range(x=(0, 3), y=(0, 1.05 * top))

    def _show(self, number: int, curve: Curve | None) -> float:
        shown = curve is not None
        for item in (self._lines[number], *self._edges[number], self._bands[number]):
            item.setVisible(shown)
        if curve is None:
            return 0.0
        x = (np.arange(len(curve.median_bytes)) + 0.5) / PARTS
        self._lines[number].setData(x, curve.median_bytes)
        for edge, values in zip(self._edges[number], (curve.low_bytes, curve.high_bytes), strict=True):
            edge.setData(x, values)
        return float(curve.high_bytes.max())
