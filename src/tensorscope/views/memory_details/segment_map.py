"""Segments of the caching allocator, one row each, with the blocks that lie in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QBrush, QHelpEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QToolTip, QWidget

from tensorscope.core.units import format_bytes
from tensorscope.models.allocator_history import AllocatorHistory
from tensorscope.models.allocator_state import AllocatorState
from tensorscope.models.stack_labels import StackLabels
from tensorscope.views.items.chart_theme import chart_theme

Longs = NDArray[np.int64]

USED, PENDING, FREE, ROUNDING = range(4)
LEAST_PX = 1.0


class SegmentMap(QAbstractScrollArea):
    """Draws the rows that are in view from arrays; width is proportional to size, least first row to last.

    Blocks that are narrower than a pixel are drawn a pixel wide.
    """

    block_clicked = Signal(int)
    """Index of the block in the history's spans."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("segmentMap")
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setMouseTracking(True)
        self.viewport().setMouseTracking(True)
        self._history: AllocatorHistory | None = None
        self._state: AllocatorState | None = None
        self._order = np.empty(0, np.int64)
        self._starts = np.empty(1, np.int64)
        self._blocks = np.empty(0, np.int64)
        self._selected = 0

    def show_state(self, history: AllocatorHistory, state: AllocatorState) -> None:
        """Show a state: partly used segments with the most idle bytes first, empty ones last."""
        self._history, self._state = history, state
        whole = history.segments.bytes[state.segments]
        used = state.segment_used_bytes
        self._order = np.lexsort((-whole, used - whole, used == 0))
        order = np.argsort(state.block_segment, kind="stable")
        order = order[state.block_segment[order] >= 0]
        self._blocks = order
        self._starts = np.searchsorted(state.block_segment[order], np.arange(len(whole) + 1))
        self._fit()
        self.viewport().update()

    def select(self, address: int) -> None:
        """Outline the block at `address`; 0 for none."""
        self._selected = address
        self.viewport().update()

    @property
    def row_px(self) -> int:
        """Height of a row."""
        return self.fontMetrics().height() + 6

    @property
    def label_px(self) -> int:
        """Room for the text left of the bars."""
        return self.fontMetrics().horizontalAdvance("1023 MiB · 100 % ")

    def rows_in_view(self) -> range:
        """Return the rows that can be seen."""
        first = self.verticalScrollBar().value() // self.row_px
        return range(first, min(len(self._order), first + self.viewport().height() // self.row_px + 2))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Follow the room."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        height = len(self._order) * self.row_px
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, height - self.viewport().height()))
        bar.setPageStep(self.viewport().height())
        bar.setSingleStep(self.row_px)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the rows in view."""
        painter = QPainter(self.viewport())
        theme = chart_theme(self)
        painter.fillRect(self.viewport().rect(), theme.background)
        if self._history is None or self._state is None:
            return
        for row in self.rows_in_view():
            self._paint_row(painter, row)

    def _bar(self, row: int) -> QRectF:
        """Return where the bar of a row lies."""
        history, state = self._history, self._state
        assert history is not None
        assert state is not None
        whole = history.segments.bytes[state.segments]
        room = max(10, self.viewport().width() - self.label_px - 8)
        size = int(whole[self._order[row]])
        # Square roots keep 2 MiB segments visible beside one of 2 GiB.
        width = max(24.0, room * float(np.sqrt(size / max(1, int(whole.max(initial=1))))))
        top = row * self.row_px - self.verticalScrollBar().value() + 2
        return QRectF(self.label_px, top, min(width, room), self.row_px - 4)

    def _paint_row(self, painter: QPainter, row: int) -> None:
        history, state = self._history, self._state
        assert history is not None
        assert state is not None
        theme, segment = chart_theme(self), int(self._order[row])
        size = int(history.segments.bytes[state.segments[segment]])
        used = int(state.segment_used_bytes[segment])
        bar = self._bar(row)
        painter.setPen(theme.text)
        text = f"{format_bytes(size)} · {100 * used / max(1, size):.0f} %"
        place = QRect(4, round(bar.top()), self.label_px - 8, round(bar.height()))
        painter.drawText(place, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)
        painter.setPen(QPen(theme.grid, 1))
        painter.setBrush(QBrush(theme.background))
        painter.drawRect(bar)
        painter.setPen(Qt.PenStyle.NoPen)
        mine = self._blocks[self._starts[segment] : self._starts[segment + 1]]
        rects, fills, chosen = self._rects(bar, segment, mine)
        for kind, brush in enumerate(self._brushes()):
            painter.setBrush(brush)
            if here := [rect for rect, fill in zip(rects, fills, strict=True) if fill == kind]:
                painter.drawRects(here)
        if chosen is not None:
            painter.setPen(QPen(theme.text, 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(chosen)

    def _brushes(self) -> list[QBrush]:
        theme = chart_theme(self)
        pending = QBrush(theme.categories[1], Qt.BrushStyle.BDiagPattern)
        return [QBrush(theme.categories[0]), pending, QBrush(), QBrush(theme.categories[6])]

    def _rects(self, bar: QRectF, segment: int, mine: Longs) -> tuple[list[QRectF], list[int], QRectF | None]:
        """Return the rectangles of a row's blocks with their fills, and the selected one."""
        history, state = self._history, self._state
        assert history is not None
        assert state is not None
        b, s = history.blocks, history.segments
        start = int(s.address[state.segments[segment]])
        scale = bar.width() / max(1, int(s.bytes[state.segments[segment]]))
        rects, fills, chosen = [], [], None
        for at in mine.tolist():
            block = int(state.blocks[at])
            x = bar.left() + (int(b.address[block]) - start) * scale
            width = max(
                LEAST_PX, int(b.bytes[block]) * scale - (0.5 if int(b.bytes[block]) * scale > 3 else 0)
            )
            rects.append(QRectF(x, bar.top() + 1, width, bar.height() - 1))
            fills.append(PENDING if state.pending[at] else USED)
            lost = (int(b.bytes[block]) - int(b.requested_bytes[block])) * scale
            if lost >= LEAST_PX:
                rects.append(QRectF(x + width - lost, bar.top() + 1, lost, bar.height() - 1))
                fills.append(ROUNDING)
            if int(b.address[block]) == self._selected:
                chosen = QRectF(x, bar.top() + 1, width, bar.height() - 1)
        return rects, fills, chosen

    def block_at(self, position: QPoint) -> int:
        """Return the block under a point of the viewport, -1 for none."""
        row = (position.y() + self.verticalScrollBar().value()) // self.row_px
        if self._history is None or self._state is None or not 0 <= row < len(self._order):
            return -1
        bar, segment = self._bar(row), int(self._order[row])
        if not bar.left() <= position.x() <= bar.right():
            return -1
        history, state = self._history, self._state
        whole = state.segments[segment]
        share = (position.x() - bar.left()) / bar.width()
        address = int(history.segments.address[whole]) + int(share * int(history.segments.bytes[whole]))
        mine = state.blocks[self._blocks[self._starts[segment] : self._starts[segment + 1]]]
        starts = history.blocks.address[mine]
        at = int(np.searchsorted(starts, np.uint64(address), side="right")) - 1
        if at < 0 or address >= int(starts[at]) + int(history.blocks.bytes[mine[at]]):
            return -1
        return int(mine[at])

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Select the block under the mouse."""
        block = self.block_at(event.position().toPoint())
        if block >= 0:
            self.block_clicked.emit(block)

    def viewportEvent(self, event: QEvent) -> bool:
        """Name what is under the mouse."""
        if isinstance(event, QHelpEvent):
            text = self.text_at(event.pos())
            QToolTip.showText(event.globalPos(), text) if text else QToolTip.hideText()
            return True
        return super().viewportEvent(event)

    def text_at(self, position: QPoint) -> str:
        """Return what a block is: sizes, state, line of code."""
        block = self.block_at(position)
        if block < 0 or self._history is None or self._state is None:
            return ""
        b = self._history.blocks
        pending = bool(b.requested[block] <= self._state.event)
        state = self.tr("freed, waits for another stream") if pending else self.tr("in use")
        text = self.tr("{requested} asked for, {size} taken · {state} · 0x{address:x}").format(
            requested=format_bytes(int(b.requested_bytes[block])), size=format_bytes(int(b.bytes[block])),
            state=state, address=int(b.address[block]),
        )  # fmt: skip
        line = StackLabels(self._history.store).label(int(b.stack[block]))
        return f"{text}\n{line}" if line else text
