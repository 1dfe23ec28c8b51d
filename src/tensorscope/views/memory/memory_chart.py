"""The plot of the memory view: stack, total, bands, gaps and the selected block."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QPen
from PySide6.QtWidgets import QWidget

from tensorscope.compute.stacking import stacked_rects
from tensorscope.core.units import format_bytes
from tensorscope.models.memory_axis import EVENT
from tensorscope.models.memory_curves import CURVES, DRIVER_PROCESS, DRIVER_USED, PROCESS, RESERVED, Curve
from tensorscope.models.memory_marks import Marks
from tensorscope.models.memory_snapshot import Bands, MemorySnapshot
from tensorscope.views.items.chart_axes import BytesAxis, MomentsAxis
from tensorscope.views.items.chart_plot import ChartPlot
from tensorscope.views.items.chart_theme import ChartTheme, cosmetic, with_alpha
from tensorscope.views.items.curve_item import CurveItem
from tensorscope.views.items.label_item import LabelItem
from tensorscope.views.items.mark_item import MarkItem
from tensorscope.views.items.note_places import Note, place_note
from tensorscope.views.items.rect_batch_item import RectBatchItem

Floats = NDArray[np.float64]

STRIP_EM = 1.25
PEAK_ROOM_EM = 1.6


class MemoryChart(ChartPlot):
    """Draws a `MemorySnapshot`. x is seconds since the session's origin or event numbers, y is bytes."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._moments = MomentsAxis()
        super().__init__(self._moments, BytesAxis("left"), parent)
        self.setObjectName("memoryChart")
        self.tints = self.add(RectBatchItem(), 0)
        self.stack = self.add(RectBatchItem(), 1)
        self.gaps = self.add(RectBatchItem(), 2)
        self.low_line = self.add(CurveItem(connect="finite"), 3)
        self.high_line = self.add(CurveItem(connect="finite"), 4)
        self.curve_lines = {name: self.add(CurveItem(stepMode=None), 4) for name in CURVES}
        self.found_line = self.add(CurveItem(connect="finite", fillLevel=0), 3.5)
        self.lifetime = self.add(RectBatchItem(), 5)
        self.marks = self.add(MarkItem(), 5.5)
        self.phase_strip = self.add(RectBatchItem(), 6)
        self.step_strip = self.add(RectBatchItem(), 6)
        self.labels, self.notes = self.add(LabelItem(), 8), self.add(LabelItem(), 8)
        self.cursor_line = self.add(pg.InfiniteLine(angle=90, movable=False), 9)
        self.cursor_line.hide()
        self.moment_line = self.add(pg.InfiniteLine(angle=90, movable=False), 8.5)
        self.moment_line.hide()
        self.units = 1e9
        self._colours: list[QColor] = []
        self._curves: list[Curve] = []
        self._top = 1.0

    def set_theme(self, theme: ChartTheme) -> None:
        """Take the colours of `theme`."""
        self.theme = theme
        self.set_colours(theme.background, theme.text, theme.grid)
        self.tints.set_brushes(theme.phase_tints())
        self.notes.plate = with_alpha(theme.background, 200)
        self.gaps.set_brushes([QBrush(theme.muted, Qt.BrushStyle.BDiagPattern)])
        self.phase_strip.set_brushes([QBrush(colour) for colour in theme.phases])
        shades = [with_alpha(theme.text, 18), with_alpha(theme.text, 40), with_alpha(theme.accent, 160)]
        self.step_strip.set_brushes([QBrush(shade) for shade in shades])
        self.lifetime.set_brushes([QBrush(with_alpha(theme.accent, 60))])
        self.lifetime.pen = cosmetic(QPen(theme.accent), 2)
        self.high_line.setPen(cosmetic(QPen(theme.text), 1))
        self.low_line.setPen(cosmetic(QPen(with_alpha(theme.text, 90)), 1, Qt.PenStyle.DotLine))
        for name, (colour, style) in _curve_looks(theme).items():
            self.curve_lines[name].setPen(cosmetic(QPen(colour), 1.5, style))
        self.found_line.setPen(cosmetic(QPen(theme.text), 1.5))
        self.found_line.setBrush(QBrush(with_alpha(theme.text, 90), Qt.BrushStyle.Dense4Pattern))
        self.cursor_line.setPen(cosmetic(QPen(theme.muted), 1))
        self.moment_line.setPen(cosmetic(QPen(theme.accent), 1.5, Qt.PenStyle.DashLine))
        blue, green = theme.categories[0], theme.categories[5]
        pens = [cosmetic(QPen(theme.warning), 2), cosmetic(QPen(blue), 1), cosmetic(QPen(green), 1),
                cosmetic(QPen(theme.muted), 1, Qt.PenStyle.DotLine)]  # fmt: skip
        self.marks.set_looks(pens, [(0.06, 1.0), (0.0, 0.03), (0.0, 0.03), (0.03, 1.0)])

    def set_series_colours(self, colours: list[QColor]) -> None:
        """Take the colours of the series that are stacked."""
        if colours != self._colours:
            self._colours = colours
            self.stack.set_brushes([QBrush(colour) for colour in colours])

    def apply(
        self, snapshot: MemorySnapshot, phase_names: list[str], current_step: int, curves: list[Curve]
    ) -> None:
        """Show `snapshot`, and `curves` over it."""
        self.units, self._curves = snapshot.units, curves
        if self._moments.counts_events != (snapshot.axis == EVENT):
            self._moments.counts_events = snapshot.axis == EVENT
            self._moments.picture = None  # it keeps its tick texts
        x0, x1 = snapshot.x0 / self.units, snapshot.x1 / self.units
        order = np.array(snapshot.order, np.uint8)
        stack = stacked_rects(x0, x1, snapshot.series_bytes[:, order])
        self.stack.set_rects(*stack[:4], order[stack.class_ids])
        whole = bool((snapshot.series_bytes.sum(axis=1) == snapshot.high_bytes).all())
        set_levels(self.high_line, x0, x1, snapshot.high_bytes, whole)
        differ = np.where(snapshot.low_bytes < snapshot.high_bytes, snapshot.low_bytes, np.nan)
        set_levels(self.low_line, x0, x1, differ, whole)
        top = max([float(stack.y1.max(initial=0.0)), *(float(c.bytes.max(initial=0)) for c in curves)])
        self._set_curves(curves, snapshot.window[1])
        self._set_y(max(top, 1.0))
        first, last = snapshot.window
        self.show_range(x=(first / self.units, last / self.units), y=(0, self._ceiling))
        self._set_bands(snapshot, current_step)
        self._set_labels(snapshot, phase_names)
        self._set_notes(snapshot)

    def _set_curves(self, curves: list[Curve], end: int) -> None:
        """Draw each curve as the level that it has until its next point."""
        shown = {curve.name: curve for curve in curves}
        for name, line in self.curve_lines.items():
            curve = shown.get(name)
            line.setVisible(curve is not None and len(curve.x) > 0)
            if curve is not None and len(curve.x):
                x = np.append(np.repeat(curve.x, 2)[1:], max(end, int(curve.x[-1]))) / self.units
                line.setData(x, np.repeat(curve.bytes, 2).astype(float))

    def show_marks(self, marks: Marks) -> None:
        """Show what happened beside the allocations."""
        self.marks.set_marks(marks.x / self.units, marks.kind)

    def show_found(self, x0: NDArray[np.number], x1: NDArray[np.number], level: NDArray[np.number]) -> None:
        """Show how much of the live bytes the search has found."""
        set_levels(self.found_line, x0 / self.units, x1 / self.units, level, len(x0) > 0)

    def show_lifetime(self, span: tuple[float, float] | None) -> None:
        """Mark a span, in axis units."""
        begin, end, height = np.empty(0), np.empty(0), np.empty(0)
        if span is not None:
            begin, end, height = (np.array([value]) for value in (*(x / self.units for x in span), 1e18))
        self.lifetime.set_rects(begin, end, -height, height, np.zeros(len(begin), np.uint8))

    def show_moment(self, x: int | None) -> None:
        """Mark the moment that all views look at, in axis units."""
        self.moment_line.setVisible(x is not None)
        if x is not None:
            self.moment_line.setPos(x / self.units)

    def show_cursor(self, x: float | None) -> None:
        """Move the hover line."""
        self.cursor_line.setVisible(x is not None)
        if x is not None:
            self.cursor_line.setPos(x)

    def series_at(self, x: float, y: float) -> int:
        """Return the series whose band holds the point, -1 if none does."""
        return int(self.stack.class_at(x, y))

    def _set_y(self, top: float) -> None:
        """Leave room above the data for two strips and the peak's label."""
        em = self.fontMetrics().height()
        height = max(float(self.box.height()), 8.0 * em)
        room = (2 * STRIP_EM + PEAK_ROOM_EM + STRIP_EM * bool(self._curves)) * em
        self._top = top
        self._ceiling = top * height / (height - room)
        self._strip = self._ceiling * STRIP_EM * em / height

    def _set_bands(self, snapshot: MemorySnapshot, current_step: int) -> None:
        ceiling, strip = self._ceiling, self._strip
        phases, steps = snapshot.phases, snapshot.steps
        self._set_band(self.tints, phases, 0.0, ceiling - 2 * strip, phases.kind)
        self._set_band(self.phase_strip, phases, ceiling - 2 * strip, ceiling - strip, phases.kind)
        shade = np.where(steps.kind == current_step, 2, steps.kind % 2)
        self._set_band(self.step_strip, steps, ceiling - strip, ceiling, shade)
        self._set_band(self.gaps, snapshot.gaps, 0.0, ceiling - 2 * strip, snapshot.gaps.kind)

    def _set_labels(self, snapshot: MemorySnapshot, phase_names: list[str]) -> None:
        ceiling, strip, theme = self._ceiling, self._strip, self.theme
        least = self._least(snapshot)
        phases, steps = snapshot.phases.at_least(least), snapshot.steps.at_least(least)
        texts = [phase_names[kind] if kind < len(phase_names) else "" for kind in phases.kind]
        colours = [theme.on(theme.phases[min(kind, 3)]) for kind in phases.kind]
        texts += [self.tr("Step {step}").format(step=step) for step in steps.kind]
        colours += [theme.text] * len(steps.kind)
        x0 = np.concatenate([phases.x0, steps.x0]) / self.units
        x1 = np.concatenate([phases.x1, steps.x1]) / self.units
        y0 = np.repeat([ceiling - 2 * strip, ceiling - strip], [len(phases.kind), len(steps.kind)])
        y1 = y0 + strip
        self.labels.font = self.font()
        self.labels.set_labels(x0, x1, y0, y1, texts, colours)

    def _set_notes(self, snapshot: MemorySnapshot) -> None:
        """Name the peak and the end of each curve."""
        boxes, texts, colours = list[Note](), list[str](), list[QColor]()
        peak = int(snapshot.peak_bytes.sum())
        if peak > 0 and self.high_line.isVisible():
            boxes.append(self._note_place(snapshot.peak_x / self.units, peak, boxes))
            texts.append(self.tr("Peak {size}").format(size=format_bytes(peak)))
            colours.append(self.theme.text)
        looks = _curve_looks(self.theme)
        for curve in self._curves:
            if len(curve.x):
                boxes.append(self._note_place(snapshot.window[1] / self.units, curve.bytes[-1], boxes))
                texts.append(self._curve_text(curve.name, int(curve.bytes[-1])))
                colours.append(looks[curve.name][0])
        self.notes.font = self.font()
        self.notes.set_labels(*np.array(boxes, float).reshape(-1, 4).T, texts, colours)

    def _curve_text(self, name: str, size: int) -> str:
        text: str = {
            PROCESS: self.tr("Process {size}"),
            RESERVED: self.tr("Reserved {size}"),
            DRIVER_USED: self.tr("Device, all {size}"),
            DRIVER_PROCESS: self.tr("Device, process {size}"),
        }[name]
        return text.format(size=format_bytes(size))

    def _least(self, snapshot: MemorySnapshot) -> int:
        """Return how long a band must be, in axis units, for any text to fit."""
        first, last = snapshot.window
        return int((last - first) * 2 * self.fontMetrics().height() / self.columns)

    def _note_place(self, x: float, y: float, others: list[Note]) -> Note:
        """Return a box near the point: moved sideways into the view, and off other notes."""
        low, high = self.x_range()
        half = (high - low) * 6 * self.fontMetrics().height() / max(1.0, float(self.box.width()))
        top = self._ceiling - 2 * self._strip
        return place_note(x, y, half, self._strip, (low, high), top, others)

    def _set_band(
        self, item: RectBatchItem, bands: Bands, y0: float, y1: float, kind: NDArray[np.int64]
    ) -> None:
        count = len(bands.x0)
        x0, x1 = bands.x0 / self.units, bands.x1 / self.units
        item.set_rects(x0, x1, np.full(count, y0), np.full(count, y1), kind)


def set_levels(
    line: CurveItem, x0: NDArray[np.number], x1: NDArray[np.number], y: NDArray[np.number], shown: bool
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


def _curve_looks(theme: ChartTheme) -> dict[str, tuple[QColor, Qt.PenStyle]]:
    return {
        PROCESS: (theme.warning, Qt.PenStyle.DashLine),
        RESERVED: (theme.text, Qt.PenStyle.DashDotLine),
        DRIVER_USED: (theme.categories[2], Qt.PenStyle.DotLine),
        DRIVER_PROCESS: (theme.categories[6], Qt.PenStyle.DashDotDotLine),
    }
