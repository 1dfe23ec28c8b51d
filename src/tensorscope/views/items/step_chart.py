"""A plot over step numbers."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QPen
from PySide6.QtWidgets import QWidget

from tensorscope.views.items.chart_axes import ChartAxis, StepsAxis
from tensorscope.views.items.chart_plot import ChartPlot
from tensorscope.views.items.chart_theme import ChartTheme, cosmetic, with_alpha
from tensorscope.views.items.rect_batch_item import RectBatchItem


class StepChart(ChartPlot):
    """A plot over step numbers with the current step, the hover line and the switches of variants."""

    def __init__(self, name: str, left: ChartAxis, parent: QWidget | None = None) -> None:
        super().__init__(StepsAxis(), left, parent)
        self.setObjectName(name)
        left.setWidth(self.fontMetrics().horizontalAdvance("1023 MiB") + 2 * self.fontMetrics().height())
        self.current = self.add(RectBatchItem(), 0)
        self.switches = self.add(pg.PlotCurveItem(connect="pairs"), 7)
        self.cursor_line = self.add(pg.InfiniteLine(angle=90, movable=False), 9)
        self.cursor_line.hide()

    def set_theme(self, theme: ChartTheme) -> None:
        """Take the colours of `theme`."""
        self.theme = theme
        self.set_colours(theme.background, theme.text, theme.grid)
        self.current.set_brushes([QBrush(with_alpha(theme.accent, 70))])
        self.switches.setPen(cosmetic(QPen(theme.muted), 1, Qt.PenStyle.DashLine))
        self.cursor_line.setPen(cosmetic(QPen(theme.muted), 1))

    def show_step(self, step: int) -> None:
        """Mark the step that all views show, at least two pixels wide."""
        first, last = self.x_range()
        half = max(0.5, (last - first) / self.columns)
        one = np.full(1 if step >= 0 else 0, float(step))
        tall = np.full(len(one), 1e18)
        self.current.set_rects(one - half, one + half, -tall, tall, np.zeros(len(one), np.uint8))

    def show_cursor(self, x: float | None) -> None:
        """Move the hover line."""
        self.cursor_line.setVisible(x is not None)
        if x is not None:
            self.cursor_line.setPos(x)

    def show_switches(self, steps: NDArray[np.float64], low: float, high: float) -> None:
        """Draw a line where the program became another variant, before each of `steps`."""
        self.switches.setData(np.repeat(steps - 0.5, 2), np.tile([low, high], len(steps)))
