"""One slice of a tensor as a grid: each cell is one element, coloured by where it lies in the storage."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from tensorscope.compute.strides import Strided
from tensorscope.core.units import MISSING
from tensorscope.views.items.chart_theme import ChartTheme, chart_theme, with_alpha
from tensorscope.views.tensor.position_ramp import DIVERGING, RAMP, ramp_levels, text_on, value_levels

MIN_CELL_PX, LINES_FROM_PX, MAX_CELL_PX = 5, 9, 56
MAX_SCROLL = (1 << 31) - 1
MAX_CELL_TEXTS = 1500


class TensorGrid(QAbstractScrollArea):
    """Shows two axes of a tensor, the others fixed. The scroll bars count cells."""

    hovered = Signal(object)  # index (tuple) or None
    window_changed = Signal()
    scrolled_axis = Signal(int)  # PgUp -1, PgDn +1 on the first fixed axis

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("tensorGrid")
        self.setMinimumSize(120, 90)
        self.setFrameShape(self.Shape.NoFrame)
        self.viewport().setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._tensor: Strided | None = None
        self._axes, self._index = (-1, -1), [0]
        self._storage_elems = 0
        self._cell_px = 0
        self._mark: tuple[int, int] | None = None
        self._values: NDArray[np.float64] | None = None
        self._values_at = (0, 0)
        self.cells_drawn = self.texts_drawn = 0
        self.horizontalScrollBar().valueChanged.connect(self._on_scroll)
        self.verticalScrollBar().valueChanged.connect(self._on_scroll)

    # -- what is shown ----------------------------------------------------------------------------

    def show_tensor(self, tensor: Strided | None, storage_elems: int) -> None:
        """Show another tensor; its last two axes, the others at 0."""
        self._tensor, self._storage_elems = tensor, storage_elems
        axes = len(tensor.sizes) if tensor else 0
        self._axes = (axes - 2 if axes > 1 else -1, axes - 1)
        self._index = [0] * axes
        self._cell_px = 0
        self._values = self._mark = None
        self._arrange()

    def set_axes(self, row_axis: int, column_axis: int) -> None:
        """Put `row_axis` downwards and `column_axis` rightwards; -1: no such axis."""
        self._axes = (row_axis, column_axis)
        self._values = None
        self._arrange()

    def set_index(self, axis: int, value: int) -> None:
        """Fix another axis at `value`."""
        self._index[axis] = value
        self._values = None
        self.viewport().update()
        self.window_changed.emit()

    def set_mark(self, span_elems: tuple[int, int] | None) -> None:
        """Outline every visible cell that lies in [first, last) of the storage."""
        if span_elems != self._mark:
            self._mark = span_elems
            self.viewport().update()

    def set_values(self, values: NDArray[np.float64] | None, start: tuple[int, int]) -> None:
        """Fill the cells from `start` on with values; None: colour by position again."""
        self._values, self._values_at = values, start
        self.viewport().update()

    @property
    def axes(self) -> tuple[int, int]:
        """Axis shown downwards and axis shown rightwards, -1 for none."""
        return self._axes

    @property
    def index(self) -> list[int]:
        """Index of every axis; those of the shown axes mean nothing."""
        return list(self._index)

    def shape(self) -> tuple[int, int]:
        """Return rows and columns of the whole slice."""
        if self._tensor is None:
            return 0, 0
        row, column = ((self._tensor.sizes[axis] if axis >= 0 else 1) for axis in self._axes)
        return (row, column) if all(self._tensor.sizes) else (0, 0)

    def visible_part(self) -> tuple[int, int, int, int]:
        """Return first row, first column, rows and columns of what is visible."""
        rows, columns = self.shape()
        top, left = self.verticalScrollBar().value(), self.horizontalScrollBar().value()
        area = self._area()
        cell = self._cell()
        down = min(rows - top, -(-area.height() // cell))
        right = min(columns - left, -(-area.width() // cell))
        return top, left, max(0, down), max(0, right)

    def positions(self) -> NDArray[np.int64]:
        """Return where in the storage each visible cell lies, as (rows, columns)."""
        top, left, down, right = self.visible_part()
        if self._tensor is None or not down or not right:
            return np.empty((0, 0), np.int64)
        row_axis, column_axis = self._axes
        fixed = [0 if axis in self._axes else i for axis, i in enumerate(self._index)]
        stride = [self._tensor.strides[axis] if axis >= 0 else 0 for axis in (row_axis, column_axis)]
        rows = (top + np.arange(down, dtype=np.int64)) * stride[0]
        columns = (left + np.arange(right, dtype=np.int64)) * stride[1]
        return self._tensor.position(fixed) + rows[:, None] + columns[None, :]

    def index_at(self, point: QPoint) -> tuple[int, ...] | None:
        """Return the index of the element under a point of the viewport."""
        area = self._area()
        if self._tensor is None or not area.contains(point):
            return None
        top, left, down, right = self.visible_part()
        row, column = (point.y() - area.top()) // self._cell(), (point.x() - area.left()) // self._cell()
        if row >= down or column >= right:
            return None
        index = list(self._index)
        for axis, value in zip(self._axes, (top + row, left + column), strict=True):
            if axis >= 0:
                index[axis] = value
        return tuple(index)

    # -- geometry ---------------------------------------------------------------------------------

    def _gutter(self) -> tuple[int, int]:
        metrics = self.fontMetrics()
        return metrics.horizontalAdvance("0" * max(2, len(str(self.shape()[0])))) + 10, metrics.height() + 4

    def _area(self) -> QRect:
        left, top = self._gutter()
        return self.viewport().rect().adjusted(left, top, 0, 0)

    def _cell(self) -> int:
        if self._cell_px:
            return self._cell_px
        rows, columns = self.shape()
        area = self._area()
        fit = min(area.width() // max(1, columns), area.height() // max(1, rows))
        return max(MIN_CELL_PX, min(fit, MAX_CELL_PX))

    def _arrange(self) -> None:
        rows, columns = self.shape()
        area, cell = self._area(), self._cell()
        for bar, count, space in (
            (self.verticalScrollBar(), rows, area.height()),
            (self.horizontalScrollBar(), columns, area.width()),
        ):
            whole = max(1, space // cell)
            bar.setRange(0, min(MAX_SCROLL, max(0, count - whole)))
            bar.setPageStep(whole)
        self.viewport().update()
        self.window_changed.emit()

    def _on_scroll(self) -> None:
        self.viewport().update()
        self.window_changed.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit again."""
        super().resizeEvent(event)
        self._arrange()

    # -- what the person does ---------------------------------------------------------------------

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll; with Ctrl, make cells larger or smaller."""
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoom(1 if event.angleDelta().y() > 0 else -1)
            event.accept()
        else:
            super().wheelEvent(event)

    def zoom(self, direction: int) -> None:
        """Make cells larger (+1) or smaller (-1)."""
        cell = self._cell()
        self._cell_px = max(MIN_CELL_PX, min(MAX_CELL_PX, cell + direction * max(1, cell // 4)))
        self._arrange()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrow keys scroll, + and - zoom, F fits, PgUp and PgDn step through the first fixed axis."""
        key = event.key()
        if key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus):
            self.zoom(-1 if key == Qt.Key.Key_Minus else 1)
        elif key == Qt.Key.Key_F:
            self._cell_px = 0
            self._arrange()
        elif key in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            self.scrolled_axis.emit(-1 if key == Qt.Key.Key_PageUp else 1)
        else:
            super().keyPressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Report the element under the mouse."""
        self.hovered.emit(self.index_at(event.position().toPoint()))

    def leaveEvent(self, event: QEvent) -> None:
        """Report that the mouse is gone."""
        self.hovered.emit(None)

    # -- drawing ----------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the visible cells as one image, then lines, numbers and marks."""
        painter = QPainter(self.viewport())
        theme = chart_theme(self)
        painter.fillRect(self.viewport().rect(), theme.background)
        self.cells_drawn = self.texts_drawn = 0
        positions = self.positions()
        if positions.size:
            self.draw(painter, theme, positions)
        painter.end()

    def draw(self, painter: QPainter, theme: ChartTheme, positions: NDArray[np.int64]) -> None:
        """Draw the cells at `positions`."""
        area, cell = self._area(), self._cell()
        down, right = positions.shape
        self.cells_drawn = positions.size
        values = self._visible_values(positions.shape)
        if values is None:
            colours = RAMP[ramp_levels(positions, self._storage_elems)]
        else:
            finite = np.abs(values[np.isfinite(values)])
            colours = DIVERGING[value_levels(values, float(finite.max()) if finite.size else 0.0)]
        pixels = np.ascontiguousarray(colours)
        image = QImage(pixels.data, right, down, 3 * right, QImage.Format.Format_RGB888)
        box = QRect(area.left(), area.top(), right * cell, down * cell)
        painter.setClipRect(area)
        painter.drawImage(box, image)
        if cell >= LINES_FROM_PX:
            self._draw_lines(painter, theme, box, cell)
        self._draw_texts(painter, positions, values, colours, box, cell)
        self._draw_mark(painter, theme, positions, box, cell)
        painter.setClipping(False)
        self._draw_rulers(painter, theme, area, cell)

    def _visible_values(self, shape: tuple[int, ...]) -> NDArray[np.float64] | None:
        if self._values is None:
            return None
        top, left, _, _ = self.visible_part()
        row, column = top - self._values_at[0], left - self._values_at[1]
        result = np.full(shape, np.nan)
        part = self._values[max(0, row) : max(0, row + shape[0]), max(0, column) : max(0, column + shape[1])]
        result[
            max(0, -row) : max(0, -row) + part.shape[0], max(0, -column) : max(0, -column) + part.shape[1]
        ] = part
        return result

    def _draw_lines(self, painter: QPainter, theme: ChartTheme, box: QRect, cell: int) -> None:
        painter.setPen(QPen(theme.background, 1))
        for x in range(box.left(), box.right() + 2, cell):
            painter.drawLine(x, box.top(), x, box.bottom())
        for y in range(box.top(), box.bottom() + 2, cell):
            painter.drawLine(box.left(), y, box.right(), y)

    def _draw_texts(
        self, painter: QPainter, positions: NDArray[np.int64], values: NDArray[np.float64] | None,
        colours: NDArray[np.uint8], box: QRect, cell: int,
    ) -> None:  # fmt: skip
        texts = _value_texts(values) if values is not None else positions.astype(str)
        widest = self.fontMetrics().horizontalAdvance("0" * int(np.char.str_len(texts).max()))
        if positions.size > MAX_CELL_TEXTS or widest + 4 > cell or self.fontMetrics().height() > cell:
            return
        dark = text_on(colours)
        for row in range(positions.shape[0]):
            for column in range(positions.shape[1]):
                painter.setPen(Qt.GlobalColor.black if dark[row, column] else Qt.GlobalColor.white)
                place = QRect(box.left() + column * cell, box.top() + row * cell, cell, cell)
                painter.drawText(place, Qt.AlignmentFlag.AlignCenter, str(texts[row, column]))
        self.texts_drawn = positions.size

    def _draw_mark(
        self, painter: QPainter, theme: ChartTheme, positions: NDArray[np.int64], box: QRect, cell: int
    ) -> None:
        if self._mark is None:
            return
        hit = np.argwhere((positions >= self._mark[0]) & (positions < self._mark[1]))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for width, colour in ((4, theme.background), (2, theme.text)):
            painter.setPen(QPen(colour, width))
            for row, column in hit[:MAX_CELL_TEXTS].tolist():
                place = QRectF(box.left() + column * cell, box.top() + row * cell, cell, cell)
                painter.drawRect(place.adjusted(1, 1, -1, -1))

    def _draw_rulers(self, painter: QPainter, theme: ChartTheme, area: QRect, cell: int) -> None:
        top, left, down, right = self.visible_part()
        metrics = self.fontMetrics()
        painter.setPen(with_alpha(theme.text, 170))
        every = _every(metrics.horizontalAdvance(str(left + right)) + 8, cell)
        for column in range(-(-left // every) * every, left + right, every):
            x = area.left() + (column - left) * cell
            place = QRect(x + cell // 2 - 60, 0, 120, area.top())
            if x + cell <= self.viewport().width():
                painter.drawText(place, Qt.AlignmentFlag.AlignCenter, str(column))
        every = _every(metrics.height(), cell)
        for row in range(-(-top // every) * every, top + down, every):
            y = area.top() + (row - top) * cell
            place = QRect(0, y + cell // 2 - 20, area.left() - 5, 40)
            if y + cell <= self.viewport().height():
                flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
                painter.drawText(place, flags, str(row))


def _every(need_px: int, cell_px: int) -> int:
    """Return the least of 1, 2, 4, 8, … cells that is at least `need_px` wide."""
    every = 1
    while every * cell_px < need_px:
        every *= 2
    return every


def _value_texts(values: NDArray[np.float64]) -> NDArray[np.str_]:
    """Return three digits of each value; an en dash where it has not been read."""
    texts = [MISSING if np.isnan(v) else f"{v:.3g}" for v in values.ravel()]
    return np.array(texts).reshape(values.shape)
