"""The three plots of the steps view. x is the step number in all of them."""

from __future__ import annotations

import math

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QPen
from PySide6.QtWidgets import QWidget

from tensorscope.compute.stacking import stacked_rects
from tensorscope.models.steps_model import StepsSnapshot
from tensorscope.views.items.chart_axes import BytesAxis, NumberAxis
from tensorscope.views.items.chart_theme import ChartTheme, cosmetic, with_alpha
from tensorscope.views.items.label_item import LabelItem
from tensorscope.views.items.rect_batch_item import RectBatchItem
from tensorscope.views.items.step_chart import StepChart

OUTLIER = 4.0
"""A time axis ends at this many times the 95th percentile; what is longer is marked, not hidden."""
STRIP_EM = 1.25


class TimeChart(StepChart):
    """Wall time of each step, stacked by phase."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("stepsTime", NumberAxis("left"), parent)
        self.stack = self.add(RectBatchItem(), 1)
        self.median_line = self.add(pg.InfiniteLine(angle=0, movable=False), 3)
        self.deep = self.add(pg.ScatterPlotItem(size=9, symbol="d", pxMode=True), 4)
        self.over = self.add(pg.ScatterPlotItem(size=9, symbol="t1", pxMode=True), 4)
        self.strip = self.add(RectBatchItem(), 6)
        self.labels = self.add(LabelItem(), 8)

    def set_theme(self, theme: ChartTheme) -> None:
        """Take the colours of `theme`."""
        super().set_theme(theme)
        self.stack.set_brushes([QBrush(colour) for colour in theme.phases])
        self.median_line.setPen(cosmetic(QPen(theme.text), 1, Qt.PenStyle.DotLine))
        for item in (self.deep, self.over):
            item.setPen(cosmetic(QPen(theme.background), 1))
            item.setBrush(QBrush(theme.text))
        self.strip.set_brushes([QBrush(with_alpha(theme.text, 18)), QBrush(with_alpha(theme.accent, 90))])

    def apply(self, snapshot: StepsSnapshot, variant_names: list[str]) -> None:
        """Show `snapshot`; `variant_names` are those of its spans."""
        self.stack.set_rects(*stacked_rects(snapshot.bar_x0, snapshot.bar_x1, snapshot.phase_ms))
        top = min(snapshot.max_ms, OUTLIER * snapshot.p95_ms) if snapshot.count else 1.0
        top = max(top, 1e-6)
        em, height = self.fontMetrics().height(), float(self.box.height())
        height = max(height, 6.0 * em)
        ceiling = top * height / (height - (STRIP_EM + 1.0) * em)
        strip = ceiling * STRIP_EM * em / height
        self.show_range((snapshot.first, snapshot.last), (0, ceiling))
        self.show_switches(_switches(snapshot), 0, ceiling)
        self.median_line.setVisible(math.isfinite(snapshot.median_ms))
        self.median_line.setPos(snapshot.median_ms if math.isfinite(snapshot.median_ms) else 0.0)
        mark = ceiling - strip * 1.4
        self.deep.setData(snapshot.deep_x, np.full(len(snapshot.deep_x), mark))
        over = snapshot.phase_ms.sum(axis=1) > ceiling
        self.over.setData((snapshot.bar_x0 + snapshot.bar_x1)[over] / 2, np.full(over.sum(), mark))
        self._set_strip(snapshot, ceiling - strip, ceiling, variant_names)

    def _set_strip(self, snapshot: StepsSnapshot, y0: float, y1: float, names: list[str]) -> None:
        spans = snapshot.spans
        x0 = np.array([span.first - 0.5 for span in spans])
        x1 = np.array([span.last + 0.5 for span in spans])
        low, high = np.full(len(spans), y0), np.full(len(spans), y1)
        kind = np.array([span.variant != "" for span in spans], np.uint8)
        self.strip.set_rects(x0, x1, low, high, kind)
        self.labels.font = self.font()
        self.labels.set_labels(x0, x1, low, high, names, [self.theme.text] * len(spans))


class LossChart(StepChart):
    """Loss of each step; what is not finite is marked on the lower edge."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("stepsLoss", NumberAxis("left"), parent)
        self.line = self.add(pg.PlotCurveItem(), 2)
        self.missing = self.add(pg.ScatterPlotItem(size=8, symbol="x", pxMode=True), 3)

    def set_theme(self, theme: ChartTheme) -> None:
        """Take the colours of `theme`."""
        super().set_theme(theme)
        self.line.setPen(cosmetic(QPen(theme.accent), 1))
        self.missing.setPen(cosmetic(QPen(theme.warning), 1))

    def apply(self, snapshot: StepsSnapshot) -> None:
        """Show `snapshot`."""
        self.line.setData(snapshot.loss_x, snapshot.loss_y)
        low = float(snapshot.loss_y.min()) if len(snapshot.loss_y) else 0.0
        high = float(snapshot.loss_y.max()) if len(snapshot.loss_y) else 1.0
        room = 0.08 * (high - low) or max(abs(high), 1e-12) * 0.5
        self.show_range((snapshot.first, snapshot.last), (low - room, high + room))
        self.missing.setData(snapshot.loss_missing_x, np.full(len(snapshot.loss_missing_x), low - room / 2))
        self.show_switches(_switches(snapshot), low - room, high + room)


class PeakChart(StepChart):
    """Highest live allocator bytes within each step."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("stepsPeak", BytesAxis("left"), parent)
        self.line = self.add(pg.PlotCurveItem(), 2)

    def set_theme(self, theme: ChartTheme) -> None:
        """Take the colours of `theme`."""
        super().set_theme(theme)
        self.line.setPen(cosmetic(QPen(theme.accent), 1))

    def apply(self, snapshot: StepsSnapshot) -> None:
        """Show `snapshot`."""
        self.line.setData(snapshot.peak_x, snapshot.peak_bytes)
        top = float(snapshot.peak_bytes.max(initial=0.0)) * 1.12 or 1.0
        self.show_range((snapshot.first, snapshot.last), (0, top))
        self.show_switches(_switches(snapshot), 0, top)


def _switches(snapshot: StepsSnapshot) -> NDArray[np.float64]:
    return np.array([span.first for span in snapshot.spans[1:]], float)
