"""The graph as a picture that is moved and scaled: drag pans, the wheel zooms, keys walk along edges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from tensorscope.models.graph_model import GraphPicture, TextSizes
from tensorscope.views.graph.graph_painter import GraphPainter, Marks, chip_rect, item_rect
from tensorscope.views.items.chart_theme import chart_theme

ZOOM, MAX_SCALE, MARGIN_PX, DRAG_PX = 1.2, 3.0, 16, 4
READABLE = 0.6
"""The first picture is chosen so that it fits at this scale or above."""


class GraphCanvas(QWidget):
    """Shows a `GraphPicture`. It knows no session: clicks and keys are reported."""

    item_clicked = Signal(int)  # -1: the background
    chip_clicked = Signal(int)
    toggled = Signal(int)
    menu_asked = Signal(int, QPoint)
    resized = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("graphCanvas")
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(160, 120)
        self.picture: GraphPicture | None = None
        self.marks = Marks()
        self.painter = GraphPainter()
        self._scale, self._origin = 1.0, QPointF()
        self._press: QPointF | None = None
        self._dragging = False
        self._fitted = True

    def sizeHint(self) -> QSize:
        """Return a comfortable size."""
        return QSize(700, 500)

    def text_sizes(self) -> TextSizes:
        """Return widths of characters in the font of the canvas, for the layout."""
        metrics = self.fontMetrics()
        widths = [float(metrics.horizontalAdvance(chr(code))) if code >= 32 else 0.0 for code in range(128)]
        widths.append(float(max(metrics.horizontalAdvance("…"), metrics.horizontalAdvance("×"))))
        return TextSizes(
            tuple(widths), float(metrics.height()), (self.tr("1 op"), self.tr("{count} ops")),
            (self.tr("1 param"), self.tr("{count} params")),
        )  # fmt: skip

    def readable_room(self) -> tuple[float, float]:
        """Return the largest picture that can be read when it is fitted."""
        return (self.width() - 2 * MARGIN_PX) / READABLE, (self.height() - 2 * MARGIN_PX) / READABLE

    def show_picture(self, picture: GraphPicture | None, anchor: tuple[str, QPointF] | None = None) -> None:
        """Show another picture; the item with the anchor's key stays at its place on the screen."""
        self.picture = picture
        self.marks = Marks(colour_by=self.marks.colour_by)
        if picture is None or anchor is None:
            self.fit()
            return
        key, before = anchor
        for item in range(picture.count):
            if picture.shown.group[item] >= 0 and picture.key(item) == key:
                at = QPointF(picture.geometry.wire[item], picture.geometry.y0[item])
                self._origin += before - self.to_screen(at)
                break
        self._fitted = False
        self.update()

    def anchor(self, item: int) -> tuple[str, QPointF] | None:
        """Return what `show_picture` needs to keep an item in place."""
        if self.picture is None or item < 0:
            return None
        shape = self.picture.geometry
        return self.picture.key(item), self.to_screen(QPointF(shape.wire[item], shape.y0[item]))

    def fit(self) -> None:
        """Show all of it, no larger than drawn."""
        self._fitted = True
        if self.picture is None or not self.picture.count:
            self.update()
            return
        left, top, right, bottom = self.picture.bounds()
        room_x, room_y = self.width() - 2 * MARGIN_PX, self.height() - 2 * MARGIN_PX
        self._scale = max(1e-4, min(1.0, room_x / (right - left), room_y / (bottom - top)))
        self._origin = QPointF(
            (self.width() - (right - left) * self._scale) / 2 - left * self._scale,
            (self.height() - (bottom - top) * self._scale) / 2 - top * self._scale,
        )
        self.update()

    def centre_on(self, item: int) -> None:
        """Move an item into view if it is not, at a scale at which it can be read."""
        if self.picture is None or item < 0:
            return
        rect = item_rect(self.picture, item)
        seen = QRectF(self.rect()).contains(self.to_screen(rect.center()))
        if seen and self._scale >= READABLE:
            return
        self._fitted = False
        self._scale = max(self._scale, READABLE)
        self._origin = QPointF(self.width() / 2, self.height() / 2) - rect.center() * self._scale
        self.update()

    def set_marks(self, **marks: object) -> None:
        """Change some of `Marks`."""
        for name, value in marks.items():
            setattr(self.marks, name, value)
        self.update()

    @property
    def scale(self) -> float:
        """Screen px for each px of the picture."""
        return self._scale

    def to_screen(self, point: QPointF) -> QPointF:
        """Return where a point of the picture is on the widget."""
        return point * self._scale + self._origin

    def to_picture(self, point: QPointF) -> QPointF:
        """Return which point of the picture is under a point of the widget."""
        return (point - self._origin) / self._scale

    def item_at(self, point: QPointF) -> int:
        """Return the innermost item under a point of the widget, -1 if none."""
        if self.picture is None:
            return -1
        at, shape = self.to_picture(point), self.picture.geometry
        inside = (shape.x0 <= at.x()) & (at.x() <= shape.x1) & (shape.y0 <= at.y()) & (at.y() <= shape.y1)
        found = np.flatnonzero(inside)
        return int(found[-1]) if len(found) else -1

    def chip_at(self, point: QPointF) -> int:
        """Return the parameter under a point of the widget, -1 if none."""
        item = self.item_at(point)
        if self.picture is not None and item >= 0:
            at = self.to_picture(point)
            for chip in np.flatnonzero(self.picture.chip_item == item).tolist():
                if chip_rect(self.picture, chip).contains(at):
                    return chip
        return -1

    # -- what the person does ---------------------------------------------------------------------

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom about the mouse."""
        self.zoom(ZOOM ** (event.angleDelta().y() / 120), event.position())
        event.accept()

    def zoom(self, factor: float, about: QPointF) -> None:
        """Scale by `factor`, keeping the point `about` of the widget where it is."""
        fixed = self.to_picture(about)
        self._scale = min(MAX_SCALE, max(1e-4, self._scale * factor))
        self._origin = about - fixed * self._scale
        self._fitted = False
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin a click or a drag."""
        if event.button() in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton):
            self._press, self._dragging = event.position(), False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Pan while dragging, else mark what is under the mouse."""
        if self._press is not None:
            by = event.position() - self._press
            if self._dragging or by.manhattanLength() > DRAG_PX:
                self._dragging, self._fitted = True, False
                self._origin += by
                self._press = event.position()
                self.setCursor(Qt.CursorShape.ClosedHandCursor)
                self.update()
            return
        chip, item = self.chip_at(event.position()), self.item_at(event.position())
        if (chip, item) != (self.marks.chip, self.marks.hovered):
            self.set_marks(chip=chip, hovered=item)
            self.setToolTip(self._tip(chip, item))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Report a click that was no drag."""
        if self._press is not None and not self._dragging and event.button() == Qt.MouseButton.LeftButton:
            chip = self.chip_at(event.position())
            if chip >= 0 and self.picture is not None and self.picture.chip_node[chip] >= 0:
                self.chip_clicked.emit(chip)
            else:
                self.item_clicked.emit(self.item_at(event.position()))
        self._press = None
        self.unsetCursor()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Expand or collapse."""
        item = self.item_at(event.position())
        if item >= 0:
            self.toggled.emit(item)
        else:
            self.fit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Ask for the menu of what is under the mouse."""
        self.menu_asked.emit(self.item_at(QPointF(event.pos())), event.globalPos())

    def leaveEvent(self, event: QEvent) -> None:
        """Forget the mouse."""
        self.set_marks(hovered=-1, chip=-1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Walk with the arrows; Enter expands or collapses, Backspace goes to the cluster around, F fits."""
        action = self._keys().get(Qt.Key(event.key()))
        if action is None or self.picture is None:
            super().keyPressEvent(event)
        else:
            action()

    def _keys(self) -> dict[Qt.Key, Callable[[], None]]:
        key, middle = Qt.Key, QPointF(self.rect().center())
        return {
            key.Key_Down: lambda: self.walk(0, 1), key.Key_Up: lambda: self.walk(0, -1),
            key.Key_Left: lambda: self.walk(-1, 0), key.Key_Right: lambda: self.walk(1, 0),
            key.Key_Return: self._toggle_selected, key.Key_Enter: self._toggle_selected,
            key.Key_Backspace: self._select_around, key.Key_F: self.fit,
            key.Key_Plus: lambda: self.zoom(ZOOM, middle), key.Key_Equal: lambda: self.zoom(ZOOM, middle),
            key.Key_Minus: lambda: self.zoom(1 / ZOOM, middle),
        }  # fmt: skip

    def walk(self, right: int, down: int) -> None:
        """Select the nearest consumer (down), producer (up) or neighbour at the side."""
        picture = self.picture
        if picture is None or not picture.count:
            return
        if self.marks.selected < 0:
            self.item_clicked.emit(0)
            return
        found = picture.linked(self.marks.selected, forward=down > 0) if down else self._beside(right)
        if len(found):
            shape = picture.geometry
            far = np.abs(shape.wire[found] - shape.wire[self.marks.selected])
            self.item_clicked.emit(int(found[np.argmin(far)]))

    def _beside(self, right: int) -> np.ndarray:
        """Return the items of the same cluster at the same height, on one side."""
        picture, at = self.picture, self.marks.selected
        assert picture is not None
        shape = picture.geometry
        same = (np.array(picture.shown.parent) == picture.shown.parent[at]) & (
            (shape.wire - shape.wire[at]) * right > 0
        )
        same &= (shape.y0 <= shape.y1[at]) & (shape.y1 >= shape.y0[at])
        return np.flatnonzero(same)

    def _toggle_selected(self) -> None:
        if self.marks.selected >= 0:
            self.toggled.emit(self.marks.selected)

    def _select_around(self) -> None:
        if self.picture is not None and self.marks.selected >= 0:
            self.item_clicked.emit(self.picture.shown.parent[self.marks.selected])

    def _tip(self, chip: int, item: int) -> str:
        picture = self.picture
        if picture is None or item < 0:
            return ""
        if chip >= 0 and picture.chip_node[chip] >= 0:
            node = int(picture.chip_node[chip])
            return f"{picture.data.text('node_param', node)} {picture.data.text('node_shape', node)}"
        return " · ".join(
            text for text in (picture.module(item), picture.lines[item], picture.sizes_text[item]) if text
        )

    # -- drawing ----------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit again, if nothing was moved since."""
        super().resizeEvent(event)
        if self._fitted:
            self.fit()
        self.resized.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the part that is in view."""
        painter = QPainter(self)
        theme = chart_theme(self)
        painter.fillRect(self.rect(), theme.background)
        if self.picture is not None:
            painter.translate(self._origin)
            painter.scale(self._scale, self._scale)
            view = QRectF(
                self.to_picture(QPointF(0, 0)), self.to_picture(QPointF(self.width(), self.height()))
            )
            self.painter.draw(painter, self.picture, theme, view, self._scale, self.marks)
        painter.end()
