"""The bytes of one storage from left to right, with every tensor that lies in it drawn as a bar."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QWheelEvent,
)  # fmt: skip
from PySide6.QtWidgets import QWidget

from tensorscope.compute.coverage import Runs, covered_between, runs_of
from tensorscope.core.units import format_bytes
from tensorscope.models.tensor_model import StorageView, TensorSnapshot
from tensorscope.views.items.chart_axes import binary_step
from tensorscope.views.items.chart_theme import ChartTheme, chart_theme, with_alpha
from tensorscope.views.tensor.position_ramp import RAMP, ramp_levels

MAX_BARS = 6
ZOOM = 1.3


class StorageStrip(QWidget):
    """Top: the selected tensor's own places, in the colours of the grid. Below: one bar a tensor."""

    hovered = Signal(object)  # byte of the storage (int) or None
    picked = Signal(int)  # row of the tensor whose bar was clicked

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("storageStrip")
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._tensor: TensorSnapshot | None = None
        self._runs: list[tuple[StorageView, Runs]] = []
        self._span = (0.0, 1.0)
        self._mark: tuple[int, int] | None = None
        self._drag_x: float | None = None

    def show_tensor(self, tensor: TensorSnapshot | None) -> None:
        """Show the storage of another tensor, whole."""
        self._tensor = tensor
        views = tensor.views if tensor and not tensor.problem else ()
        self._runs = [(view, runs_of(view.strided)) for view in views]
        self._mark = None
        self.fit()
        self.updateGeometry()

    def set_mark(self, span_bytes: tuple[int, int] | None) -> None:
        """Mark bytes [first, last)."""
        if span_bytes != self._mark:
            self._mark = span_bytes
            self.update()

    def fit(self) -> None:
        """Show the whole storage."""
        self._span = (0.0, float(max(1, self._tensor.storage_bytes if self._tensor else 1)))
        self.update()

    @property
    def span(self) -> tuple[float, float]:
        """First and last byte that is visible."""
        return self._span

    def byte_at(self, x: float) -> int | None:
        """Return the byte under `x`, None outside of the storage."""
        left, right = self._extent()
        if self._tensor is None or not left <= x < right:
            return None
        at = int(self._span[0] + (x - left) / (right - left) * (self._span[1] - self._span[0]))
        return at if 0 <= at < self._tensor.storage_bytes else None

    def x_of(self, byte: float) -> float:
        """Return where a byte begins."""
        left, right = self._extent()
        return left + (byte - self._span[0]) / (self._span[1] - self._span[0]) * (right - left)

    def sizeHint(self) -> QSize:
        """Return room for the ruler, the strip and one bar for each tensor."""
        em = self.fontMetrics().height()
        return QSize(300, em + 6 + 26 + min(len(self._runs), MAX_BARS) * (em + 2) + em + 8)

    def minimumSizeHint(self) -> QSize:
        """Return the same height."""
        return QSize(160, self.sizeHint().height())

    # -- what the person does ---------------------------------------------------------------------

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom about the mouse."""
        self._zoom(event.position().x(), 1 / ZOOM if event.angleDelta().y() > 0 else ZOOM)
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """W and S zoom, A and D pan, F fits."""
        middle = sum(self._extent()) / 2
        key = event.key()
        if key in (Qt.Key.Key_W, Qt.Key.Key_S):
            self._zoom(middle, 1 / ZOOM if key == Qt.Key.Key_W else ZOOM)
        elif key in (Qt.Key.Key_A, Qt.Key.Key_D):
            self._pan((-0.2 if key == Qt.Key.Key_A else 0.2) * (self._span[1] - self._span[0]))
        elif key == Qt.Key.Key_F:
            self.fit()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Pick a bar, or begin to drag."""
        bar = (event.position().y() - self._bars_top()) / self._bar_px()
        if 0 <= bar < min(len(self._runs), MAX_BARS):
            self.picked.emit(self._runs[int(bar)][0].row)
        self._drag_x = event.position().x()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End dragging."""
        self._drag_x = None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Pan while dragging, else report the byte under the mouse."""
        x = event.position().x()
        if self._drag_x is not None:
            left, right = self._extent()
            self._pan((self._drag_x - x) / (right - left) * (self._span[1] - self._span[0]))
            self._drag_x = x
        self.hovered.emit(self.byte_at(x))

    def leaveEvent(self, event: QEvent) -> None:
        """Report that the mouse is gone."""
        self.hovered.emit(None)

    def _zoom(self, x: float, factor: float) -> None:
        left, right = self._extent()
        share = min(1.0, max(0.0, (x - left) / (right - left)))
        at = self._span[0] + share * (self._span[1] - self._span[0])
        total = float(max(1, self._tensor.storage_bytes if self._tensor else 1))
        length = min(total, max(16.0, (self._span[1] - self._span[0]) * factor))
        first = min(max(0.0, at - share * length), total - length)
        self._span = (first, first + length)
        self.update()

    def _pan(self, by: float) -> None:
        total = float(max(1, self._tensor.storage_bytes if self._tensor else 1))
        length = self._span[1] - self._span[0]
        first = min(max(0.0, self._span[0] + by), max(0.0, total - length))
        self._span = (first, first + length)
        self.update()

    # -- drawing ----------------------------------------------------------------------------------

    def _extent(self) -> tuple[int, int]:
        gutter = min(self.width() // 3, self.fontMetrics().averageCharWidth() * 26)
        return gutter, max(gutter + 1, self.width() - 8)

    def _strip(self) -> QRect:
        left, right = self._extent()
        return QRect(left, self.fontMetrics().height() + 6, right - left, 22)

    def _bars_top(self) -> int:
        return self._strip().bottom() + 6

    def _bar_px(self) -> int:
        return self.fontMetrics().height() + 2

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw everything from the runs; the cost grows with pixels."""
        painter = QPainter(self)
        self.draw(painter, chart_theme(self))
        painter.end()

    def draw(self, painter: QPainter, theme: ChartTheme) -> None:
        """Draw the strip and its bars."""
        painter.fillRect(self.rect(), theme.background)
        if self._tensor is None or not self._runs:
            return
        strip, painter_font = self._strip(), painter.font()
        self._draw_ruler(painter, theme, strip)
        painter.setFont(painter_font)
        edges = np.linspace(*self._span, strip.width() + 1)
        view, runs = self._runs[0]
        painter.fillRect(strip, QBrush(with_alpha(theme.text, 70), Qt.BrushStyle.BDiagPattern))
        levels = ramp_levels((edges[:-1] / view.itemsize_bytes).astype(np.int64), self._tensor.storage_elems)
        _draw_columns(painter, strip, RAMP[levels], _shares(view, runs, edges))
        self._draw_cells(painter, theme, strip, view)
        painter.setPen(QPen(theme.grid, 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(strip.adjusted(0, 0, -1, -1))
        self._gutter_text(painter, theme.text, strip, self.tr("Storage"))
        for number, (other, other_runs) in enumerate(self._runs[:MAX_BARS]):
            self._draw_bar(painter, theme, number, other, other_runs, edges)
        self._draw_hidden(painter, theme)
        self._draw_mark(painter, theme, strip)

    def _draw_ruler(self, painter: QPainter, theme: ChartTheme, strip: QRect) -> None:
        painter.setPen(with_alpha(theme.text, 170))
        length = self._span[1] - self._span[0]
        step = max(1.0, binary_step(length * 90 / strip.width()))
        at = math.ceil(self._span[0] / step) * step
        while at <= self._span[1]:
            x = round(self.x_of(at))
            painter.drawLine(x, strip.top() - 4, x, strip.top() - 1)
            label = format_bytes(at) if at else "0"
            width = painter.fontMetrics().horizontalAdvance(label)
            place = min(max(x - width // 2, strip.left() - 4), self.width() - width - 2)
            painter.drawText(QPoint(place, strip.top() - 6), label)
            at += step

    def _draw_cells(self, painter: QPainter, theme: ChartTheme, strip: QRect, view: StorageView) -> None:
        """Part the strip into elements where they are wide enough."""
        first, last = (edge / view.itemsize_bytes for edge in self._span)
        if strip.width() < 5 * (last - first):
            return
        painter.setPen(QPen(theme.background, 1))
        for element in range(math.ceil(first), math.floor(last) + 1):
            x = round(self.x_of(element * view.itemsize_bytes))
            painter.drawLine(x, strip.top(), x, strip.bottom())

    def _draw_bar(
        self, painter: QPainter, theme: ChartTheme, number: int, view: StorageView, runs: Runs,
        edges: NDArray[np.float64],
    ) -> None:  # fmt: skip
        left, right = self._extent()
        line = QRect(left, self._bars_top() + number * self._bar_px(), right - left, self._bar_px())
        colour = theme.accent if number == 0 else theme.categories[0]
        low, high = (place * view.itemsize_bytes for place in view.strided.reach)
        x0, x1 = max(left, round(self.x_of(low))), min(right, round(self.x_of(high)))
        track = QRect(x0, line.top() + 4, max(1, x1 - x0), line.height() - 7)
        if x1 >= left and x0 <= right:
            painter.fillRect(track, with_alpha(colour, 50))
        solid = np.tile(
            np.array([[colour.red(), colour.green(), colour.blue()]], np.uint8), (len(edges) - 1, 1)
        )
        place = QRect(line.left(), track.top(), line.width(), track.height())
        _draw_columns(painter, place, solid, _shares(view, runs, edges))
        self._gutter_text(painter, theme.text, line, view.name)

    def _gutter_text(self, painter: QPainter, colour: QColor, line: QRect, text: str) -> None:
        painter.setPen(colour)
        place = QRect(4, line.top(), line.left() - 12, line.height())
        elided = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideLeft, place.width())
        painter.drawText(place, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, elided)

    def _draw_hidden(self, painter: QPainter, theme: ChartTheme) -> None:
        assert self._tensor is not None
        hidden = max(0, len(self._runs) - MAX_BARS) + self._tensor.hidden_views
        if hidden:
            left, right = self._extent()
            top = self._bars_top() + MAX_BARS * self._bar_px()
            painter.setPen(with_alpha(theme.text, 170))
            text = self.tr("and {count} more tensors in this storage").format(count=hidden)
            place = QRect(left, top, right - left, self._bar_px())
            painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)

    def _draw_mark(self, painter: QPainter, theme: ChartTheme, strip: QRect) -> None:
        if self._mark is None:
            return
        left, right = self._extent()
        x0, x1 = self.x_of(self._mark[0]), self.x_of(self._mark[1])
        x1 = max(x1, x0 + 2)
        if x1 < left or x0 > right:
            return
        bottom = self._bars_top() + min(len(self._runs), MAX_BARS) * self._bar_px()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.background, 1))
        painter.setBrush(theme.text)
        middle = (x0 + x1) / 2
        tip = [(middle, strip.top()), (middle - 5, strip.top() - 8), (middle + 5, strip.top() - 8)]
        painter.drawPolygon(QPolygonF([QPointF(x, y) for x, y in tip]))
        painter.setBrush(with_alpha(theme.text, 60))
        painter.setPen(QPen(theme.text, 1))
        painter.drawRect(QRectF(x0, strip.top(), x1 - x0, bottom - strip.top()))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)


def _shares(view: StorageView, runs: Runs, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return which share of each pixel column's bytes `view` reads."""
    places = edges / view.itemsize_bytes
    return np.clip(covered_between(runs, places) / np.diff(places), 0, 1)


def _draw_columns(
    painter: QPainter, box: QRect, colours: NDArray[np.uint8], shares: NDArray[np.float64]
) -> None:
    """Draw pixel columns, each as opaque as its share; what is touched at all stays visible."""
    alpha = np.where(shares > 0, np.maximum(np.rint(255 * shares), 70), 0).astype(np.uint8)
    pixels = np.ascontiguousarray(np.concatenate([colours, alpha[:, None]], axis=1))
    image = QImage(pixels.data, len(pixels), 1, 4 * len(pixels), QImage.Format.Format_RGBA8888)
    painter.drawImage(box, image)
