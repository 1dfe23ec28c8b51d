"""The table of allocator settings, a bar behind each peak."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, Qt
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from tensorscope.models.what_if_result import WhatIf, WhatIfRow
from tensorscope.views.items.chart_theme import chart_theme
from tensorscope.views.items.rows_table import BYTES, COUNT, DELTA_BYTES, PERCENT, TEXT, RowsTable
from tensorscope.views.memory_details.fit_texts import FitTexts

KINDS = (TEXT, BYTES, DELTA_BYTES, PERCENT, TEXT, BYTES, PERCENT, BYTES, COUNT, COUNT)
_PEAK, _FITS = 1, 4
_LEAST_CHARS = 38


class BarDelegate(QStyledItemDelegate):
    """Paints a bar under a number, as long as its share of `most`."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.most = 1
        self._widget = parent

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Paint the number as usual, then the bar."""
        super().paint(painter, option, index)
        rect: QRect = option.rect
        share = int(index.data(Qt.ItemDataRole.UserRole) or 0) / max(self.most, 1)
        height = max(3, rect.height() // 6)
        width = round((rect.width() - 4) * min(share, 1.0))
        bar = QRect(rect.left() + 2, rect.bottom() - height + 1, width, height)
        painter.fillRect(bar, chart_theme(self._widget).categories[3])


class FitTable(RowsTable):
    """One row a setting, in the order of `WhatIf.rows`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("fit", KINDS, parent)
        self.filter.hide()
        self._bars = BarDelegate(self)
        self.view.setItemDelegateForColumn(_PEAK, self._bars)
        header = self.view.horizontalHeader()
        em = self.fontMetrics().averageCharWidth()
        for column, chars in ((0, _LEAST_CHARS), (_PEAK, 18)):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Interactive)
            header.resizeSection(column, chars * em)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the names of the settings the room that is left."""
        super().resizeEvent(event)
        self._fit_names()

    def _fit_names(self) -> None:
        header = self.view.horizontalHeader()
        others = sum(header.sectionSize(column) for column in range(1, len(KINDS)))
        least = _LEAST_CHARS * self.fontMetrics().averageCharWidth()
        header.resizeSection(0, max(least, self.view.viewport().width() - others))

    def show_answer(self, found: WhatIf, texts: FitTexts) -> None:
        """Show the rows of `found`."""
        reference = found.reference_row
        base = max(1, reference.replay.peak_reserved_bytes) if reference is not None else 1
        self._bars.most = max((row.replay.peak_reserved_bytes for row in found.rows), default=1)
        self.set_rows(
            [
                (
                    texts.setting(row, found), *_peak(row, base), texts.fits(row),
                    row.replay.peak_active_bytes, row.unused_share, row.replay.end_reserved_bytes,
                    row.replay.segment_allocs, row.retries,
                )
                for row in found.rows
            ]
        )  # fmt: skip
        self.view.setColumnHidden(_FITS, found.limit_bytes is None)
        self._fit_names()


def _peak(row: WhatIfRow, base: int) -> tuple[int | None, int | None, float | None]:
    """Return peak, difference and its share; nothing where the replay ended at the limit."""
    if row.replay.failure is not None:
        return None, None, None
    return row.replay.peak_reserved_bytes, row.difference_bytes, row.difference_bytes / base
