"""Draws a graph picture from its arrays: the same for the screen, a file and a test."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QFont, QFontMetricsF, QPainter, QPainterPath, QPen

from tensorscope.compute.graph_condense import BOX, CLUSTER
from tensorscope.compute.graph_outline import FOLD
from tensorscope.models.graph_colours import BY_BYTES, BY_TIME, MAX_CLASSES, SHADES, Fills, fills_of
from tensorscope.models.graph_model import GraphPicture
from tensorscope.views.items.chart_theme import ChartTheme, mixed, with_alpha
from tensorscope.views.items.line_array import LineArray
from tensorscope.views.items.rect_array import RectArray

TITLES_FROM, LINES_FROM, ROUND_FROM, CURVES_FROM = 0.38, 0.55, 0.25, 0.2
MAX_ROUND, MAX_CURVES, MAX_TEXTS = 800, 3000, 1200


@dataclass
class Marks:
    """What is marked, by item; -1 for nothing."""

    selected: int = -1
    hovered: int = -1
    chip: int = -1
    matches: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    path: NDArray[np.bool_] | None = None
    """Items on the way that is shown, such as from a parameter to the loss."""
    lit: NDArray[np.bool_] | None = None
    """Items that are not faded; None: all."""
    colour_by: int = BY_BYTES


class GraphPainter:
    """Keeps its buffers between frames. `counts` says what the last frame drew."""

    def __init__(self) -> None:
        self._rects = [RectArray() for _ in range(max(SHADES, MAX_CLASSES + 1))]
        self._veil = RectArray()
        self._fills: tuple[GraphPicture, int, Fills] | None = None
        self._lines = LineArray()
        self.counts = {"boxes": 0, "pieces": 0, "texts": 0, "calls": 0}

    def draw(
        self,
        painter: QPainter,
        picture: GraphPicture,
        theme: ChartTheme,
        view: QRectF,
        scale: float,
        marks: Marks,
    ) -> None:
        """Draw what lies in `view` (picture coordinates); `painter` is already scaled by `scale`."""
        self.counts = {"boxes": 0, "pieces": 0, "texts": 0, "calls": 0}
        self._theme, self._scale = theme, scale
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        shape = picture.geometry
        seen = (shape.x1 >= view.left()) & (shape.x0 <= view.right())
        seen &= (shape.y1 >= view.top() - 8) & (shape.y0 <= view.bottom() + 8)
        kinds = np.array(picture.shown.kind)
        clusters, boxes = np.flatnonzero(seen & (kinds == CLUSTER)), np.flatnonzero(seen & (kinds != CLUSTER))
        self._draw_clusters(painter, picture, clusters, view)
        self._draw_edges(painter, picture, view, marks)
        self._draw_boxes(painter, picture, boxes, marks)
        self._draw_marks(painter, picture, marks)
        if scale >= TITLES_FROM:
            self._draw_texts(painter, picture, clusters, boxes, view)
            self._draw_chips(painter, picture, boxes, marks)
        if marks.lit is not None and len(marks.lit) == picture.count:
            self._fade(painter, picture, boxes[~marks.lit[boxes]])

    # -- layers -----------------------------------------------------------------------------------

    def _draw_clusters(
        self, painter: QPainter, picture: GraphPicture, clusters: NDArray[np.intp], view: QRectF
    ) -> None:
        painter.setPen(QPen(with_alpha(self._theme.text, 90), 0))
        painter.setBrush(with_alpha(self._theme.text, 11))
        for item in clusters[:MAX_ROUND].tolist():
            painter.drawRoundedRect(self._rect(picture, item).intersected(_grown(view)), 7, 7)
        self.counts["calls"] += len(clusters[:MAX_ROUND])

    def _draw_edges(self, painter: QPainter, picture: GraphPicture, view: QRectF, marks: Marks) -> None:
        pieces = picture.geometry.pieces
        if not len(pieces):
            return
        seen = (np.maximum(pieces[:, 0], pieces[:, 2]) >= view.left()) & (pieces[:, 3] >= view.top())
        seen &= (np.minimum(pieces[:, 0], pieces[:, 2]) <= view.right()) & (pieces[:, 1] <= view.bottom())
        lit = np.zeros(len(pieces), bool)
        if marks.selected >= 0:
            lit = (picture.geometry.piece_from == marks.selected) | (
                picture.geometry.piece_to == marks.selected
            )
        if marks.path is not None and len(marks.path) == picture.count:
            ends = picture.geometry.piece_from, picture.geometry.piece_to
            lit |= np.logical_and(*(marks.path[end] | (end < 0) for end in ends))
        width = 1.2 if self._scale >= CURVES_FROM else 0.0
        self._draw_pieces(painter, pieces[seen & ~lit], QPen(with_alpha(self._theme.text, 120), width))
        self._draw_pieces(painter, pieces[seen & lit], QPen(self._theme.accent, 2.2))

    def _draw_pieces(self, painter: QPainter, pieces: NDArray[np.float64], pen: QPen) -> None:
        self.counts["pieces"] += len(pieces)
        self.counts["calls"] += 1
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if len(pieces) > MAX_CURVES or self._scale < CURVES_FROM:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=len(pieces) <= MAX_CURVES)
            self._lines.set(pieces)
            self._lines.draw(painter)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            return
        path = QPainterPath()
        end = None
        for x0, y0, x1, y1 in pieces.tolist():
            if (x0, y0) != end:
                path.moveTo(x0, y0)
            end = (x1, y1)
            if x0 == x1:
                path.lineTo(x1, y1)
            else:
                middle = (y0 + y1) / 2
                path.cubicTo(x0, middle, x1, middle, x1, y1)
        painter.drawPath(path)

    def _draw_boxes(
        self, painter: QPainter, picture: GraphPicture, boxes: NDArray[np.intp], marks: Marks
    ) -> None:
        self.counts["boxes"] = len(boxes)
        fills = self.fills(picture, marks.colour_by)
        strength = fills.index[boxes]
        round_corners = self._scale >= ROUND_FROM and len(boxes) <= MAX_ROUND
        outline = QPen(with_alpha(self._theme.text, 150), 1 if round_corners else 0)
        painter.setPen(outline if self._scale > 0.08 else QPen(Qt.PenStyle.NoPen))
        if round_corners:
            self._draw_stacks(painter, picture, boxes)
            painter.setPen(outline)
        else:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        shape = picture.geometry
        for level, array in enumerate(self._rects):
            mine = boxes[strength == level]
            if not len(mine):
                continue
            painter.setBrush(fill_brush(self._theme, fills, level, marks.colour_by))
            if round_corners:
                for item in mine.tolist():
                    painter.drawRoundedRect(self._rect(picture, item), 4, 4)
                self.counts["calls"] += len(mine)
            else:
                array.set(shape.x0[mine], shape.y0[mine], picture.box_x1[mine], shape.y1[mine])
                array.draw(painter)
                self.counts["calls"] += 1
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)

    def fills(self, picture: GraphPicture, colour_by: int) -> Fills:
        """Return what the boxes are filled by; kept until another picture or choice comes."""
        if self._fills is None or self._fills[0] is not picture or self._fills[1] != colour_by:
            self._fills = picture, colour_by, fills_of(picture, colour_by)
        return self._fills[2]

    def _fade(self, painter: QPainter, picture: GraphPicture, boxes: NDArray[np.intp]) -> None:
        """Lay a veil over boxes."""
        shape = picture.geometry
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(with_alpha(self._theme.background, 185))
        grow = 1.0 / self._scale
        x0, y0, x1, y1 = (edge[boxes] for edge in (shape.x0, shape.y0, picture.box_x1, shape.y1))
        self._veil.set(x0 - grow, y0 - grow, x1 + grow, y1 + grow)
        self._veil.draw(painter)
        self.counts["calls"] += 1

    def _draw_stacks(self, painter: QPainter, picture: GraphPicture, boxes: NDArray[np.intp]) -> None:
        """Draw two cards behind what stands for several equal modules."""
        outline = picture.data.outline
        painter.setBrush(self._theme.background)
        for item in boxes.tolist():
            group = picture.shown.group[item]
            if group >= 0 and outline.kind[group] == FOLD:
                for shift in (6.0, 3.0):
                    painter.drawRoundedRect(self._rect(picture, item).translated(shift, shift), 4, 4)

    def _draw_marks(self, painter: QPainter, picture: GraphPicture, marks: Marks) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        thick = max(2.5, 2.0 / self._scale)
        painter.setPen(QPen(self._theme.warning, thick))
        for item in marks.matches[:MAX_TEXTS].tolist():
            painter.drawRoundedRect(self._rect(picture, item).adjusted(-2, -2, 2, 2), 5, 5)
        if marks.hovered >= 0 and marks.hovered != marks.selected:
            painter.setPen(QPen(with_alpha(self._theme.accent, 150), max(1.5, 1.5 / self._scale)))
            painter.drawRoundedRect(self._rect(picture, marks.hovered), 5, 5)
        if marks.selected >= 0:
            painter.setPen(QPen(self._theme.accent, thick))
            painter.drawRoundedRect(self._rect(picture, marks.selected).adjusted(-1, -1, 1, 1), 5, 5)

    # -- texts ------------------------------------------------------------------------------------

    def _draw_texts(
        self, painter: QPainter, picture: GraphPicture, clusters: NDArray[np.intp], boxes: NDArray[np.intp],
        view: QRectF,
    ) -> None:  # fmt: skip
        bold = QFont(painter.font())
        bold.setBold(True)
        plain, small = QFont(painter.font()), picture.text_sizes.line
        for item in [*clusters[:MAX_TEXTS].tolist(), *boxes[: MAX_TEXTS - len(clusters)].tolist()]:
            rect = self._rect(picture, item)
            if picture.shown.kind[item] == CLUSTER:
                self._cluster_title(painter, picture, item, rect, bold)
                continue
            is_box = picture.shown.kind[item] == BOX
            inner = rect.adjusted(10, 0, -10, 0)
            painter.setFont(bold)
            painter.setPen(self._theme.text)
            lined = self._scale >= LINES_FROM and bool(picture.lines[item] or picture.sizes_text[item])
            title = ("▸ " if is_box else "") + picture.titles[item]
            line = QRectF(inner.left(), rect.center().y() - small, inner.width(), small)
            self._text(painter, line if lined else inner, title, Qt.AlignmentFlag.AlignLeft)
            if not lined:
                continue
            painter.setFont(plain)
            second = QRectF(inner.left(), rect.center().y(), inner.width(), small)
            size = picture.sizes_text[item]
            painter.setPen(self._theme.text)
            used = self._text(painter, second, size, Qt.AlignmentFlag.AlignRight) if size else 0.0
            painter.setPen(with_alpha(self._theme.text, 190))
            self._text(
                painter, second.adjusted(0, 0, -used, 0), picture.lines[item], Qt.AlignmentFlag.AlignLeft
            )
            if picture.out_shape[item]:
                place = QRectF(picture.geometry.wire[item] + 6, rect.bottom() + 4, 200, small)
                self._patch(painter, place, picture.out_shape[item])
                self._text(painter, place, picture.out_shape[item], Qt.AlignmentFlag.AlignLeft)
        painter.setFont(plain)

    def _cluster_title(
        self, painter: QPainter, picture: GraphPicture, item: int, rect: QRectF, font: QFont
    ) -> None:
        painter.setFont(font)
        painter.setPen(with_alpha(self._theme.text, 215))
        text = "▾ " + picture.titles[item]
        if picture.sizes_text[item]:
            text += "  " + picture.sizes_text[item]
        line = picture.text_sizes.line
        place = QRectF(rect.left() + 9, rect.top() + 4, rect.width() - 18, line)
        self._patch(painter, place, text)
        self._text(painter, place, text, Qt.AlignmentFlag.AlignLeft)

    def _draw_chips(
        self, painter: QPainter, picture: GraphPicture, boxes: NDArray[np.intp], marks: Marks
    ) -> None:
        visible = np.flatnonzero(np.isin(picture.chip_item, boxes))[:MAX_TEXTS]
        colour = self._theme.categories[0]
        lit = marks.lit if marks.lit is not None and len(marks.lit) == picture.count else None
        for chip in visible.tolist():
            rect = chip_rect(picture, chip)
            painter.setOpacity(1.0 if lit is None or lit[picture.chip_item[chip]] else 0.3)
            painter.setPen(QPen(self._theme.accent if chip == marks.chip else with_alpha(colour, 200), 1))
            painter.setBrush(with_alpha(colour, 90 if chip == marks.chip else 45))
            painter.drawRoundedRect(rect, rect.height() / 2, rect.height() / 2)
            painter.setPen(self._theme.text)
            self._text(
                painter, rect.adjusted(7, 0, -5, 0), picture.chip_text[chip], Qt.AlignmentFlag.AlignLeft
            )
        painter.setOpacity(1.0)
        self.counts["calls"] += len(visible)

    def _patch(self, painter: QPainter, place: QRectF, text: str) -> None:
        """Cover what runs behind a text that stands outside of a box."""
        width = min(place.width(), QFontMetricsF(painter.font()).horizontalAdvance(text))
        patch = QRectF(place.left() - 2, place.top() + 1, width + 4, place.height() - 2)
        painter.fillRect(patch, with_alpha(self._theme.background, 215))

    def _text(self, painter: QPainter, place: QRectF, text: str, side: Qt.AlignmentFlag) -> float:
        """Draw one line, cut with an ellipsis where it does not fit; return the width it took."""
        metrics = QFontMetricsF(painter.font())
        cut = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, place.width())
        painter.drawText(place, side | Qt.AlignmentFlag.AlignVCenter, cut)
        self.counts["texts"] += 1
        return metrics.horizontalAdvance(cut) + 8

    def _rect(self, picture: GraphPicture, item: int) -> QRectF:
        return item_rect(picture, item)


def fill_brush(theme: ChartTheme, fills: Fills, level: int, colour_by: int) -> QBrush:
    """Return the fill of a shade or class; faint enough for text to be read on it."""
    if fills.names:
        others = level >= len(fills.names)
        colour = theme.muted if others else theme.series(len(fills.names), others=False)[level]
        return QBrush(mixed(colour, theme.background, 0.18 if others else 0.5))
    hues = {BY_BYTES: theme.categories[5], BY_TIME: theme.phases[2]}
    share = (0.62 if colour_by in hues else 0.8) * level / (SHADES - 1)
    return QBrush(mixed(hues.get(colour_by, theme.categories[0]), theme.background, share))


def item_rect(picture: GraphPicture, item: int) -> QRectF:
    """Return the box or frame of an item, without its parameters."""
    shape = picture.geometry
    left, top = float(shape.x0[item]), float(shape.y0[item])
    return QRectF(QPointF(left, top), QPointF(float(picture.box_x1[item]), float(shape.y1[item])))


def chip_rect(picture: GraphPicture, chip: int) -> QRectF:
    """Return the place of a parameter: in a stack at the right of its item."""
    item = int(picture.chip_item[chip])
    mine = np.flatnonzero(picture.chip_item == item)
    row, rows = int(np.searchsorted(mine, chip)), len(mine)
    shape, line = picture.geometry, picture.text_sizes.line + 2
    top = (shape.y0[item] + shape.y1[item]) / 2 - rows * (line + 2) / 2 + row * (line + 2) + 1
    left = float(picture.box_x1[item]) + 4
    return QRectF(left, float(top), float(shape.x1[item]) - left, line)


def _grown(view: QRectF) -> QRectF:
    return view.adjusted(-view.width(), -view.height(), view.width(), view.height())
