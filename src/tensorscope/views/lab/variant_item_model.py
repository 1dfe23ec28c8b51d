"""The comparison table of the lab."""

from __future__ import annotations

import math
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPixmap

from tensorscope.compute.robust_stats import Interval
from tensorscope.core.units import MISSING, format_bytes
from tensorscope.models.lab_model import FASTER, FEW, MIN_PAIRS, SAME, VariantRow
from tensorscope.views.names import Names

Index = QModelIndex | QPersistentModelIndex


class VariantItemModel(QAbstractTableModel):
    """One row a variant; every number with its unit in the header."""

    def __init__(self, names: Names, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._names = names
        self._rows: tuple[VariantRow, ...] = ()
        self._colours: tuple[QColor, ...] = ()

    def set_rows(self, rows: tuple[VariantRow, ...]) -> None:
        """Show `rows`."""
        if len(rows) != len(self._rows):
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()
        elif rows:
            self._rows = rows
            self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, self.columnCount() - 1))

    def set_colours(self, colours: tuple[QColor, ...]) -> None:
        """Set the swatch of each row."""
        self._colours = colours
        self.layoutChanged.emit()

    def retranslate(self) -> None:
        """Show every text again."""
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, self.columnCount() - 1)
        self.set_rows(self._rows)

    def headers(self) -> list[str]:
        """Return the header texts."""
        return [
            self.tr("Variant"),
            self.tr("Verdict"),
            self.tr("Time ÷ plain"),
            self.tr("Median step (ms)"),
            self.tr("95 % interval (ms)"),
            self.tr("p95 (ms)"),
            self.tr("Peak memory"),
            self.tr("Loss (median)"),
            self.tr("Steps"),
            self.tr("Left out"),
        ]

    def texts(self, row: VariantRow) -> list[str]:
        """Return the texts of one row, in the order of `headers`."""
        ratio = row.ratio
        left_out = [self.tr("{count} warm-up").format(count=row.warm_up)] if row.warm_up else []
        left_out += [self.tr("{count} deep").format(count=row.deep)] if row.deep else []
        return [
            self._names.variant(row.variant),
            self.verdict(row),
            "1" if ratio is None else _ratio(ratio),
            _number(row.time_ms.value),
            _span(row.time_ms, _number),
            _number(row.p95_ms),
            format_bytes(row.peak_bytes),
            f"{row.loss:.5g}" if math.isfinite(row.loss) else MISSING,
            f"{row.time_ms.count:,}",
            ", ".join(left_out) or "0",
        ]

    def verdict(self, row: VariantRow) -> str:
        """Return in words what the numbers allow to say."""
        ratio = row.ratio
        if ratio is None:
            return self.tr("the baseline")
        if row.verdict == FEW:
            return self.tr("{count} of {needed} block pairs needed to tell").format(
                count=ratio.count, needed=MIN_PAIRS
            )
        if row.verdict == SAME:
            smallest = 100 * max(ratio.high / ratio.value - 1, 1 - ratio.low / ratio.value)
            return self.tr("no difference seen (smallest visible effect {percent} %)").format(
                percent=f"{smallest:.1f}"
            )
        percent = f"{100 * abs(1 - ratio.value):.1f}"
        if row.verdict == FASTER:
            return self.tr("{percent} % less time than plain").format(percent=percent)
        return self.tr("slower here: {percent} % more time than plain").format(percent=percent)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's own default)
        """Return the number of variants."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's own default)
        """Return the number of columns."""
        return 0 if parent.isValid() else 10

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return text, alignment or swatch."""
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self.texts(self._rows[index.row()])[index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(index.column())
        if role == Qt.ItemDataRole.DecorationRole and index.column() == 0 and self._colours:
            swatch = QPixmap(QSize(10, 10))
            swatch.fill(self._colours[index.row() % len(self._colours)])
            return QIcon(swatch)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a header text."""
        if orientation == Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return self.headers()[section]
            if role == Qt.ItemDataRole.TextAlignmentRole:
                return _alignment(section)
        return None


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if 1 < column < 9 else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else MISSING


def _span(interval: Interval, text: Any) -> str:
    return f"{text(interval.low)} – {text(interval.high)}" if interval.known else MISSING


def _ratio(interval: Interval) -> str:
    if not math.isfinite(interval.value):
        return MISSING
    if not interval.known:
        return f"{interval.value:.3f}"
    return f"{interval.value:.3f}  [{interval.low:.3f}, {interval.high:.3f}]"
