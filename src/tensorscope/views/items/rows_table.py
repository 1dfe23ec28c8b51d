"""A table of plain rows: sorted by value, filtered by text, numbers in their units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtWidgets import QHeaderView, QLabel, QLineEdit, QTableView, QVBoxLayout, QWidget

from tensorscope.core.units import MISSING, format_bytes

Index = QModelIndex | QPersistentModelIndex
TEXT, NUMBER, BYTES, DELTA_BYTES, COUNT, PERCENT, MS, SECONDS = (
    "text", "number", "bytes", "delta_bytes", "count", "percent", "ms", "seconds",
)  # fmt: skip
"""How a column is shown; None is shown as missing. `NUMBER` is a text that stands at the right."""


def cell_text(kind: str, value: Any) -> str:
    """Return `value` as it stands in a cell."""
    if value is None or value == "":
        return MISSING
    if kind == BYTES:
        return format_bytes(int(value))
    if kind == DELTA_BYTES:
        return ("+" if value > 0 else "−" if value < 0 else "") + format_bytes(abs(int(value)))
    if kind == COUNT:
        return f"{value:,}"
    if kind == PERCENT:
        return f"{100 * value:.1f} %".replace("-0.0", "0.0").replace("-", "−")
    if kind == MS:
        return f"{value:,.2f} ms"
    return f"{value:.6f} s" if kind == SECONDS else str(value)


class RowsModel(QAbstractTableModel):
    """Rows of values, a kind a column. GUI thread."""

    def __init__(self, kinds: Sequence[str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.kinds = tuple(kinds)
        self.headers: list[str] = [""] * len(self.kinds)
        self.rows: list[tuple[Any, ...]] = []

    def set_rows(self, rows: list[tuple[Any, ...]]) -> None:
        """Show `rows`; equal ones leave selection and scrolling alone."""
        if rows != self.rows:
            self.beginResetModel()
            self.rows = rows
            self.endResetModel()

    def set_headers(self, headers: list[str]) -> None:
        """Set the texts above the columns."""
        self.headers = headers
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(headers) - 1)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's own default)
        """Return the number of rows."""
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's own default)
        """Return the number of columns."""
        return 0 if parent.isValid() else len(self.kinds)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return text, the value itself for sorting, or the alignment."""
        value, kind = self.rows[index.row()][index.column()], self.kinds[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return cell_text(kind, value)
        if role == Qt.ItemDataRole.ToolTipRole:
            exact = kind in (BYTES, DELTA_BYTES) and value is not None
            return f"{value:,} B" if exact else cell_text(kind, value)
        if role == Qt.ItemDataRole.UserRole:
            return value
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignLeft if kind == TEXT else Qt.AlignmentFlag.AlignRight
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a header, over its numbers at the right."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.headers[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignLeft if self.kinds[section] == TEXT else Qt.AlignmentFlag.AlignRight
            return side | Qt.AlignmentFlag.AlignVCenter
        return None


class _Sorted(QSortFilterProxyModel):
    def lessThan(self, left: Index, right: Index) -> bool:
        one, other = (index.data(Qt.ItemDataRole.UserRole) for index in (left, right))
        if one is None or other is None:
            return one is None and other is not None
        return bool(one < other)


class RowsTable(QWidget):
    """Heading, filter and table.

    Parameters
    ----------
    kinds
        One of the kinds above for each column; the first `TEXT` column takes the room that is left.
    """

    chosen = Signal(int)
    """Row number, as given to `set_rows`, that was clicked or reached with the keyboard."""

    def __init__(self, name: str, kinds: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.heading = QLabel(self)
        self.heading.setObjectName(f"{name}Heading")
        self.heading.setWordWrap(True)
        self.heading.setMargin(4)
        self.filter = QLineEdit(self)
        self.filter.setObjectName(f"{name}Filter")
        self.filter.setClearButtonEnabled(True)
        self.model = RowsModel(kinds, self)
        self._sorted = _Sorted(self)
        self._sorted.setSourceModel(self.model)
        self._sorted.setFilterKeyColumn(-1)
        self._sorted.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.view = QTableView(self)
        self.view.setObjectName(f"{name}Table")
        self.view.setModel(self._sorted)
        self.view.setSortingEnabled(True)
        self.view.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.view.verticalHeader().hide()
        self.view.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 6)
        self.view.setShowGrid(False)
        self.view.setAlternatingRowColors(True)
        self.view.setWordWrap(False)
        self.view.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.view.setFrameShape(QTableView.Shape.NoFrame)
        self.view.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self.view.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self._fit_columns(kinds)
        self.filter.textChanged.connect(self._sorted.setFilterFixedString)
        self.view.clicked.connect(self._on_chosen)
        self.view.activated.connect(self._on_chosen)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 2, 6, 2)
        layout.setSpacing(2)
        for widget in (self.heading, self.filter, self.view):
            layout.addWidget(widget)
        layout.setStretch(2, 1)

    def _fit_columns(self, kinds: Sequence[str]) -> None:
        header = self.view.horizontalHeader()
        header.setMinimumSectionSize(self.fontMetrics().averageCharWidth() * 6)
        stretched = list(kinds).index(TEXT) if TEXT in kinds else 0
        for column in range(len(kinds)):
            mode = QHeaderView.ResizeMode.ResizeToContents
            header.setSectionResizeMode(
                column, QHeaderView.ResizeMode.Stretch if column == stretched else mode
            )

    def set_texts(self, headers: list[str], placeholder: str) -> None:
        """Set the headers, and what the filter says while it is empty."""
        self.model.set_headers(headers)
        self.filter.setPlaceholderText(placeholder)
        self.filter.setAccessibleName(placeholder)

    def set_rows(self, rows: list[tuple[Any, ...]]) -> None:
        """Show rows in their order, until the person sorts them."""
        self.model.set_rows(rows)

    def csv(self) -> tuple[list[str], list[list[object]]]:
        """Return headers and the rows that are shown, as they are sorted; bytes as numbers."""
        shown = [
            self._sorted.mapToSource(self._sorted.index(row, 0)).row()
            for row in range(self._sorted.rowCount())
        ]
        units = {
            BYTES: " (bytes)",
            DELTA_BYTES: " (bytes)",
            PERCENT: " (share)",
            MS: " (ms)",
            SECONDS: " (s)",
        }
        headers = [
            header + units.get(kind, "")
            for header, kind in zip(self.model.headers, self.model.kinds, strict=True)
        ]
        return headers, [list(self.model.rows[row]) for row in shown]

    def _on_chosen(self, index: QModelIndex) -> None:
        self.chosen.emit(self._sorted.mapToSource(index).row())
