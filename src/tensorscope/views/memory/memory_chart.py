"""The plot of the memory view: stack, total, bands, gaps and the selected block."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QPen
from PySide6.QtWidgets import QWidget

from tensorscope.compute.stacking import stacked_rects
from tensorscope.core.units import format_bytes
from tensorscope.models.block_lifetime import BlockLifetime
from tensorscope.models.memory_model import STACK_ORDER, Bands, MemorySnapshot
from tensorscope.views.items.chart_axes import BytesAxis, SecondsAxis
from tensorscope.views.items.chart_plot import ChartPlot
from tensorscope.views.items.chart_theme import ChartTheme, cosmetic, with_alpha
from tensorscope.views.items.label_item import LabelItem
from tensorscope.views.items.rect_batch_item import RectBatchItem

Floats = NDArray[np.float64]

NS = 1e9
STRIP_EM = 1.25
PEAK_ROOM_EM = 1.6


def seconds(t_ns: NDArray[np.int64]) -> Floats:
    """Return ns since the origin as seconds."""
    return t_ns / NS


class MemoryChart(ChartPlot):
    """Draws a `MemorySnapshot`. x is seconds since the session's origin, y is bytes."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(SecondsAxis(), BytesAxis("left"), parent)
        self.setObjectName("memoryChart")
        self.tints = self.add(RectBatchItem(), 0)
        self.stack = self.add(RectBatchItem(), 1)
        self.gaps = self.add(RectBatchItem(), 2)
        self.low_line = self.add(pg.PlotCurveItem(connect="finite"), 3)
        self.high_line = self.add(pg.PlotCurveItem(connect="finite"), 4)
        self.rss_line = self.add(pg.PlotCurveItem(), 4)
        self.lifetime = self.add(RectBatchItem(), 5)
        self.phase_strip = self.add(RectBatchItem(), 6)
        self.step_strip = self.add(RectBatchItem(), 6)
        self.labels = self.add(LabelItem(), 8)
        self.cursor_line = self.add(pg.InfiniteLine(angle=90, movable=False), 9)
        self.cursor_line.hide()
        self._top = 1.0

    def set_theme(self, theme: ChartTheme) -> None:
        """Take the colours of `theme`."""
        self.theme = theme
        self.set_colours(theme.background, theme.text, theme.grid)
        self.tints.set_brushes(theme.phase_tints())
        self.stack.set_brushes([QBrush(colour) for colour in theme.categories])
        self.gaps.set_brushes([QBrush(theme.muted, Qt.BrushStyle.BDiagPattern)])
        self.phase_strip.set_brushes([QBrush(colour) for colour in theme.phases])
        shades = [with_alpha(theme.text, 18), with_alpha(theme.text, 40), with_alpha(theme.accent, 160)]
        self.step_strip.set_brushes([QBrush(shade) for shade in shades])
        self.lifetime.set_brushes([QBrush(with_alpha(theme.accent, 60))])
        self.lifetime.pen = cosmetic(QPen(theme.accent), 2)
        self.high_line.setPen(cosmetic(QPen(theme.text), 1))
        self.low_line.setPen(cosmetic(QPen(with_alpha(theme.text, 90)), 1, Qt.PenStyle.DotLine))
        self.rss_line.setPen(cosmetic(QPen(theme.warning), 1, Qt.PenStyle.DashLine))
        self.cursor_line.setPen(cosmetic(QPen(theme.muted), 1))

    def apply(
        self, snapshot: MemorySnapshot, phase_names: list[str], current_step: int, show_rss: bool
    ) -> None:
        """Show `snapshot`."""
        x0, x1 = seconds(snapshot.t0_ns), seconds(snapshot.t1_ns)
        order = np.array(STACK_ORDER, np.uint8)
        stack = stacked_rects(x0, x1, snapshot.category_bytes[:, order])
        self.stack.set_rects(*stack[:4], order[stack.class_ids])
        whole = bool((snapshot.category_bytes.sum(axis=1) == snapshot.high_bytes).all())
        self._set_steps(self.high_line, x0, x1, snapshot.high_bytes, whole)
        differ = np.where(snapshot.low_bytes < snapshot.high_bytes, snapshot.low_bytes, np.nan)
        self._set_steps(self.low_line, x0, x1, differ, whole)
        top = float(stack.y1.max(initial=0.0))
        self.rss_line.setVisible(show_rss)
        if show_rss:
            self.rss_line.setData(seconds(snapshot.rss_t_ns), snapshot.rss_bytes.astype(float))
            top = max(top, float(snapshot.rss_bytes.max(initial=0)))
        self._set_y(max(top, 1.0))
        self.show_range(x=(snapshot.window_ns[0] / NS, snapshot.window_ns[1] / NS), y=(0, self._ceiling))
        self._set_bands(snapshot, current_step)
        self._set_labels(snapshot, phase_names)

    def show_lifetime(self, block: BlockLifetime | None) -> None:
        """Mark the time in which `block` lives; open ends reach to the edge."""
        if block is None:
            begin, end, height = np.empty(0), np.empty(0), np.empty(0)
        else:
            stop = block.lost_t_ns if block.lost_t_ns >= 0 else 2**62
            begin = np.array([block.begin.t_ns / NS if block.begin else -1e9])
            end = np.array([(block.end.t_ns if block.end else stop) / NS])
            height = np.array([1e18])
        self.lifetime.set_rects(begin, end, -height, height, np.zeros(len(begin), np.uint8))

    def show_cursor(self, x: float | None) -> None:
        """Move the hover line."""
        self.cursor_line.setVisible(x is not None)
        if x is not None:
            self.cursor_line.setPos(x)

    def category_at(self, x: float, y: float) -> int:
        """Return the category whose band holds the point, -1 if none does."""
        return int(self.stack.class_at(x, y))

    @staticmethod
    def _set_steps(
        line: pg.PlotCurveItem,
        x0: Floats,
        x1: Floats,
        y: NDArray[np.number],
        shown: bool,
    ) -> None:
        """Draw a level line over each column; broken where columns do not touch."""
        line.setVisible(shown)
        if not shown or not len(x0):
            line.setData([], [])
            return
        apart = np.flatnonzero(x0[1:] > x1[:-1]) + 1
        x = np.insert(np.stack([x0, x1], axis=1), apart, np.nan, axis=0).ravel()
        level = np.insert(np.repeat(y.astype(float)[:, None], 2, axis=1), apart, np.nan, axis=0).ravel()
        line.setData(x, level)

    def _set_y(self, top: float) -> None:
        """Leave room above the data for two strips and the peak's label."""
        em = self.fontMetrics().height()
        height = max(float(self.box.height()), 8.0 * em)
        room = (2 * STRIP_EM + PEAK_ROOM_EM) * em
        self._top = top
        self._ceiling = top * height / (height - room)
        self._strip = self._ceiling * STRIP_EM * em / height

    def _set_bands(self, snapshot: MemorySnapshot, current_step: int) -> None:
        ceiling, strip = self._ceiling, self._strip
        phases, steps = snapshot.phases, snapshot.steps
        _set_band(self.tints, phases, 0.0, ceiling - 2 * strip, phases.kind)
        _set_band(self.phase_strip, phases, ceiling - 2 * strip, ceiling - strip, phases.kind)
        shade = np.where(steps.kind == current_step, 2, steps.kind % 2)
        _set_band(self.step_strip, steps, ceiling - strip, ceiling, shade)
        _set_band(self.gaps, snapshot.gaps, 0.0, ceiling - 2 * strip, snapshot.gaps.kind)

    def _set_labels(self, snapshot: MemorySnapshot, phase_names: list[str]) -> None:
        ceiling, strip, theme = self._ceiling, self._strip, self.theme
        least_ns = self._least_ns(snapshot)
        phases, steps = snapshot.phases.at_least(least_ns), snapshot.steps.at_least(least_ns)
        texts = [phase_names[kind] if kind < len(phase_names) else "" for kind in phases.kind]
        colours = [theme.on(theme.phases[min(kind, 3)]) for kind in phases.kind]
        texts += [self.tr("Step {step}").format(step=step) for step in steps.kind]
        colours += [theme.text] * len(steps.kind)
        x0 = np.concatenate([seconds(phases.t0_ns), seconds(steps.t0_ns)])
        x1 = np.concatenate([seconds(phases.t1_ns), seconds(steps.t1_ns)])
        y0 = np.repeat([ceiling - 2 * strip, ceiling - strip], [len(phases.kind), len(steps.kind)])
        y1 = y0 + strip
        boxes = [x0, x1, y0, y1]
        peak = int(snapshot.peak_bytes.sum())
        if peak > 0 and self.high_line.isVisible():
            boxes = self._with_note(boxes, snapshot.peak_t_ns / NS, peak)
            texts.append(self.tr("Peak {size}").format(size=format_bytes(peak)))
            colours.append(theme.text)
        if self.rss_line.isVisible() and len(snapshot.rss_bytes):
            rss = int(snapshot.rss_bytes[-1])
            boxes = self._with_note(boxes, snapshot.rss_t_ns[-1] / NS, rss)
            texts.append(self.tr("Process {size}").format(size=format_bytes(rss)))
            colours.append(theme.warning)
        self.labels.font = self.font()
        self.labels.set_labels(*boxes, texts, colours)

    def _least_ns(self, snapshot: MemorySnapshot) -> int:
        """Return how long a band must be for any text to fit."""
        first, last = snapshot.window_ns
        return int((last - first) * 2 * self.fontMetrics().height() / self.columns)

    def _with_note(self, boxes: list[Floats], x: float, y: float) -> list[Floats]:
        """Return `boxes` and one more just above the point, moved sideways into the view."""
        low, high = self.x_range()
        half = (high - low) * 6 * self.fontMetrics().height() / max(1.0, float(self.box.width()))
        at = min(max(x, low + half), high - half)
        more = (at - half, at + half, y, y + self._strip)
        return [np.append(column, value) for column, value in zip(boxes, more, strict=True)]


def _set_band(item: RectBatchItem, bands: Bands, y0: float, y1: float, kind: NDArray[np.int64]) -> None:
    count = len(bands.t0_ns)
    item.set_rects(seconds(bands.t0_ns), seconds(bands.t1_ns), np.full(count, y0), np.full(count, y1), kind)
