"""The picture of the address map: a raster that follows the window, segments behind, the selection before."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QPen, QWheelEvent
from PySide6.QtWidgets import QWidget

from tensorscope.compute.block_raster import NOTHING, Raster
from tensorscope.core.units import format_bytes
from tensorscope.models.address_map import AddressMap, Regions
from tensorscope.models.memory_axis import EVENT
from tensorscope.views.items.chart_axes import MomentsAxis
from tensorscope.views.items.chart_plot import ChartPlot
from tensorscope.views.items.chart_theme import chart_theme, cosmetic, with_alpha
from tensorscope.views.items.rect_batch_item import RectBatchItem

LEAST_LABEL_PX = 22
LEAST_ALPHA = 70
EDGE = 0.72
"""How dark the edge of a block is beside its inside."""
ZOOM = 1.25


class RegionAxis(pg.AxisItem):
    """Names the regions at their starts: true address and size."""

    def __init__(self) -> None:
        super().__init__("left")
        self._regions: Regions | None = None
        self.setStyle(tickLength=-4)

    def set_regions(self, regions: Regions) -> None:
        """Label other regions."""
        self._regions = regions
        self.picture = None
        self.update()

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        """Return the starts of the regions in view, never closer than their labels are high."""
        regions = self._regions
        if regions is None or size <= 0 or maxVal <= minVal:
            return []
        apart = (maxVal - minVal) * LEAST_LABEL_PX / size
        shown: list[float] = []
        for start in regions.offset[(regions.offset >= minVal) & (regions.offset <= maxVal)].tolist():
            if not shown or start - shown[-1] >= apart:
                shown.append(start)
        return [(1.0, shown)]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return address and size of the region that begins at each value."""
        regions = self._regions
        if regions is None:
            return []
        rows = np.searchsorted(regions.offset, values)
        return [f"0x{int(regions.start[row]):x} · {format_bytes(int(regions.bytes[row]))}" for row in rows]


class AddressChart(ChartPlot):
    """x belongs to time, y to addresses; the wheel zooms time, with Ctrl addresses."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._moments, self._region_axis = MomentsAxis(), RegionAxis()
        super().__init__(self._moments, self._region_axis, parent)
        self.setObjectName("addressChart")
        self.box.setMouseEnabled(x=True, y=True)
        self.segments = self.add(RectBatchItem(), 0)
        self.image = self.add(pg.ImageItem(axisOrder="row-major"), 1)
        self.selected = self.add(RectBatchItem(), 4)
        self.moment_line = self.add(pg.InfiniteLine(angle=90, movable=False), 5)
        self.moment_line.hide()
        self._raster: Raster | None = None
        self._colours: list[QColor] = []

    def retheme(self) -> None:
        """Take the colours of the palette."""
        theme = chart_theme(self)
        self.set_colours(theme.background, theme.text, theme.grid)
        self.segments.set_brushes([QBrush(with_alpha(theme.text, 26))])
        self.segments.pen = cosmetic(QPen(with_alpha(theme.text, 60)), 1)
        self.selected.set_brushes([QBrush(Qt.BrushStyle.NoBrush)])
        self.selected.pen = cosmetic(QPen(theme.text), 2.5)
        self.moment_line.setPen(cosmetic(QPen(theme.accent), 1.5, Qt.PenStyle.DashLine))

    def show_map(self, found: AddressMap, colours: list[QColor]) -> None:
        """Show another map; the picture comes with `show_raster`."""
        self._colours = colours
        self._moments.counts_events = found.axis == EVENT
        self._moments.picture = None
        self._region_axis.set_regions(found.regions)
        kinds = np.zeros(len(found.segment_x0), np.uint8)
        rects = found.segment_x0, found.segment_x1, found.segment_y0, found.segment_y1
        self.segments.set_rects(*rects, kinds)

    def size_px(self) -> tuple[int, int]:
        """Return width and height of the picture."""
        return self.columns, max(1, round(float(self.box.height())))

    def window(self) -> tuple[float, float, float, float]:
        """Return left, right, bottom and top."""
        (left, right), (bottom, top) = self.box.viewRange()
        return float(left), float(right), float(bottom), float(top)

    def show_raster(self, found: Raster, window: tuple[float, float, float, float]) -> None:
        """Show a picture of `window`; it stays in its place while the person moves on."""
        left, right, bottom, top = window
        palette = np.zeros((256, 4), np.float32)
        for index, colour in enumerate(self._colours):
            palette[index] = (colour.red(), colour.green(), colour.blue(), 255)
        pixels = palette[found.class_id]
        pixels[..., :3] *= np.where(found.edge, EDGE, 1.0)[..., None]
        alpha = LEAST_ALPHA + (255 - LEAST_ALPHA) * found.coverage
        pixels[..., 3] = np.where(found.class_id == NOTHING, 0, alpha)
        self.image.setImage(pixels.astype(np.ubyte), autoLevels=False, levels=None)
        self.image.setRect(left, bottom, right - left, top - bottom)
        self._raster = found

    def show_selected(self, rect: tuple[float, float, float, float] | None) -> None:
        """Outline a block: its x0, x1, y0, y1."""
        columns = [np.array([value]) for value in rect] if rect is not None else [np.empty(0)] * 4
        self.selected.set_rects(
            columns[0], columns[1], columns[2], columns[3], np.zeros(len(columns[0]), np.uint8)
        )

    def show_moment(self, x: float | None) -> None:
        """Mark the moment that is looked at."""
        self.moment_line.setVisible(x is not None)
        if x is not None:
            self.moment_line.setPos(x)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom time about the mouse; addresses with Ctrl held."""
        turns = event.angleDelta().y() or event.angleDelta().x()
        if not turns:
            return
        factor = ZOOM ** (-turns / 120)
        at = self.box.mapSceneToView(self.mapToScene(event.position().toPoint()))
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.box.scaleBy(y=factor, center=at)
        else:
            self.box.scaleBy(x=factor, center=at)
        event.accept()
