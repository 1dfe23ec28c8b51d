"""Time of every step, coloured and shaped by variant."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QPen
from PySide6.QtWidgets import QWidget

from tensorscope.models.lab_model import LabSnapshot
from tensorscope.views.items.chart_axes import NumberAxis
from tensorscope.views.items.chart_theme import ChartTheme, cosmetic
from tensorscope.views.items.step_chart import StepChart

SYMBOLS = ("o", "t1", "s", "d", "+", "star")


class LabChart(StepChart):
    """Raw samples, one a step: filled where they count, hollow where they were left out."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("labChart", NumberAxis("left"), parent)
        self._points = [self.add(pg.ScatterPlotItem(symbol=symbol, pxMode=True), 3) for symbol in SYMBOLS]

    def set_theme(self, theme: ChartTheme) -> None:
        """Take the colours of `theme`."""
        super().set_theme(theme)
        self._brushes = [QBrush(theme.variant(index)) for index in range(len(SYMBOLS))]

    def apply(self, snapshot: LabSnapshot) -> None:
        """Show `snapshot`, all steps in the width."""
        steps, ms = snapshot.chart_step, snapshot.chart_ms
        size = 7 if len(steps) < 400 else 4
        for index, points in enumerate(self._points):
            mine = snapshot.chart_variant % len(SYMBOLS) == index
            used = mine & snapshot.chart_used
            brush, hollow = self._brushes[index], QBrush(Qt.BrushStyle.NoBrush)
            both = np.concatenate([np.flatnonzero(used), np.flatnonzero(mine & ~snapshot.chart_used)])
            brushes = [brush] * int(used.sum()) + [hollow] * int((mine & ~snapshot.chart_used).sum())
            pen = cosmetic(QPen(brush.color()), 1)
            shown = np.minimum(ms[both], snapshot.chart_top_ms)
            points.setData(steps[both], shown, brush=brushes, pen=pen, size=size)
        if len(steps):
            top = min(float(ms.max()), snapshot.chart_top_ms) * 1.1 or 1.0
            self.show_range((steps[0] - 0.5, steps[-1] + 0.5), (0, top))
            change = np.flatnonzero(np.diff(snapshot.chart_variant)) + 1
            self.show_switches(steps[change].astype(float), 0, top)
