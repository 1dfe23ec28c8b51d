"""A plot along time or steps: the wheel and W S A D move it, the mouse reports data coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent
from PySide6.QtWidgets import QWidget

ZOOM, PAN = 1.4, 0.2


class ChartPlot(pg.PlotWidget):
    """A plot whose x range belongs to the person and whose y range belongs to the data."""

    hovered = Signal(float, float)
    hover_left = Signal()
    clicked = Signal(float, float)
    moved = Signal(float, float)
    """The person moved the x range to these bounds (never emitted for `show_range`)."""
    fit_asked = Signal()
    edge_asked = Signal(int)  # -1 Home, +1 End
    peak_asked = Signal(int)  # -1 previous, +1 next
    resized = Signal()

    def __init__(self, bottom: pg.AxisItem, left: pg.AxisItem, parent: QWidget | None = None) -> None:
        super().__init__(parent, axisItems={"bottom": bottom, "left": left})
        self._setting = False
        self.setMinimumSize(0, 0)
        self.setFrameShape(self.Shape.NoFrame)
        plot = self.getPlotItem()
        plot.hideButtons()
        plot.setMenuEnabled(False)
        plot.setContentsMargins(0, 4, 8, 0)
        box = plot.getViewBox()
        box.setMouseEnabled(x=True, y=False)
        box.disableAutoRange()
        box.setDefaultPadding(0)
        box.setLimits(minXRange=1e-6)
        box.sigXRangeChanged.connect(self._on_range)
        box.sigResized.connect(self._on_resized)
        self.scene().sigMouseMoved.connect(self._on_mouse)
        self.scene().sigMouseClicked.connect(self._on_click)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    @property
    def box(self) -> pg.ViewBox:
        """The view box."""
        return self.getPlotItem().getViewBox()

    @property
    def columns(self) -> int:
        """How many pixel columns the plot has."""
        return max(1, round(float(self.box.width())))

    def x_range(self) -> tuple[float, float]:
        """Return the bounds of the x axis."""
        (low, high), _ = self.box.viewRange()
        return float(low), float(high)

    def show_range(self, x: tuple[float, float] | None = None, y: tuple[float, float] | None = None) -> None:
        """Set what is visible, without telling that the person did."""
        self._setting = True
        try:
            self.box.setRange(xRange=x, yRange=y, padding=0, disableAutoRange=True)
        finally:
            self._setting = False

    def set_colours(self, background: QColor, text: QColor, grid: QColor) -> None:
        """Follow the theme."""
        self.setBackground(background)
        for name in ("bottom", "left"):
            axis = self.getPlotItem().getAxis(name)
            axis.setPen(grid)
            axis.setTextPen(text)
            axis.labelStyle["color"] = text.name()
            axis.setLabel(axis.labelText)

    def add(self, item: Any, z: float) -> Any:
        """Add a graphics item at depth `z`, outside of any automatic range, and return it."""
        item.setZValue(z)
        self.addItem(item, ignoreBounds=True)
        return item

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Zoom, pan, fit and jump with the keys of timelines."""
        action = self._keys().get(Qt.Key(event.key()))
        if action is None or event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            event.ignore()
            return
        action()
        event.accept()

    def _keys(self) -> dict[Qt.Key, Callable[[], None]]:
        key = Qt.Key
        return {
            key.Key_W: lambda: self.zoom(1 / ZOOM),
            key.Key_S: lambda: self.zoom(ZOOM),
            key.Key_A: lambda: self.pan(-PAN),
            key.Key_D: lambda: self.pan(PAN),
            key.Key_F: self.fit_asked.emit,
            key.Key_Home: lambda: self.edge_asked.emit(-1),
            key.Key_End: lambda: self.edge_asked.emit(1),
            key.Key_BracketLeft: lambda: self.peak_asked.emit(-1),
            key.Key_BracketRight: lambda: self.peak_asked.emit(1),
        }

    def zoom(self, factor: float) -> None:
        """Make the x range `factor` times as long, about the mouse if it is inside, else the centre."""
        low, high = self.x_range()
        centre = (low + high) / 2
        under = self.box.mapSceneToView(self.mapToScene(self.mapFromGlobal(self.cursor().pos())))
        if self.underMouse() and low <= under.x() <= high:
            centre = under.x()
        self.box.setXRange(centre - (centre - low) * factor, centre + (high - centre) * factor, padding=0)

    def pan(self, share: float) -> None:
        """Move the x range by `share` of its length."""
        low, high = self.x_range()
        by = (high - low) * share
        self.box.setXRange(low + by, high + by, padding=0)

    def leaveEvent(self, event: QEvent) -> None:
        """Say that the mouse is gone."""
        super().leaveEvent(event)
        self.hover_left.emit()

    def _on_range(self) -> None:
        if not self._setting:
            self.moved.emit(*self.x_range())

    def _on_resized(self) -> None:
        self.resized.emit()

    def _on_mouse(self, position: QPointF) -> None:
        if self.box.sceneBoundingRect().contains(position):
            at = self.box.mapSceneToView(position)
            self.hovered.emit(at.x(), at.y())
        else:
            self.hover_left.emit()

    def _on_click(self, event: Any) -> None:
        position = event.scenePos()
        if event.button() != Qt.MouseButton.LeftButton or not self.box.sceneBoundingRect().contains(position):
            return
        if event.double():
            self.fit_asked.emit()
            return
        at = self.box.mapSceneToView(position)
        self.clicked.emit(at.x(), at.y())
