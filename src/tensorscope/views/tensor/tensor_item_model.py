"""The table of tensors as Qt asks for it: sorts and filters with numpy, 100,000 rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from tensorscope.core.units import MISSING, format_bytes
from tensorscope.models.tensor_model import TensorRows
from tensorscope.views.tensor.tensor_names import TensorNames

COLUMNS = 13
(
    NAME, ROLE, SHAPE, DTYPE, STRIDE, OFFSET, STORAGE,
    OWN_BYTES, STORAGE_BYTES, LAYOUT, SHARED, GRAD, GRAD_FN,
) = range(COLUMNS)  # fmt: skip
RIGHT_ALIGNED = {OFFSET, OWN_BYTES, STORAGE_BYTES, SHARED}
Index = QModelIndex | QPersistentModelIndex
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_NO_PARENT = QModelIndex()


class TensorItemModel(QAbstractTableModel):
    """Rows of a `TensorRows` in the order and selection that the person chose."""

    def __init__(self, names: TensorNames, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._names = names
        self.rows: TensorRows | None = None
        self._shown: NDArray[np.intp] = np.empty(0, np.intp)
        self._place: NDArray[np.intp] = np.empty(0, np.intp)
        self._sort = (-1, Qt.SortOrder.AscendingOrder)
        self._filter = ("", -1, -1)
        self.retranslate()

    def retranslate(self) -> None:
        """Take the texts of the language that is set now."""
        self._headers, self._roles = self._names.columns(), self._names.roles()
        self._layouts, self._layout_help = self._names.layouts(), self._names.layout_help()
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, COLUMNS - 1)

    def set_rows(self, rows: TensorRows | None) -> None:
        """Show the tensors of another capture."""
        if rows is not self.rows:
            self.beginResetModel()
            self.rows = rows
            self._arrange()
            self.endResetModel()

    def set_filter(self, text: str, role: int, layout: int) -> None:
        """Show rows whose name, module, dtype or shape holds `text`; -1: every role or layout."""
        if (text, role, layout) != self._filter:
            self.beginResetModel()
            self._filter = (text, role, layout)
            self._arrange()
            self.endResetModel()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column; equal rows keep the order of the capture."""
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        kept = [(self.tensor_row(index), index.column()) for index in before]
        self._sort = (column, order)
        self._arrange()
        after = [self.index(self.view_row(row), at) if row >= 0 else QModelIndex() for row, at in kept]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    def tensor_row(self, index: Index) -> int:
        """Return the row of `TensorRows` at an index, -1 if it is none."""
        return int(self._shown[index.row()]) if 0 <= index.row() < len(self._shown) else -1

    def view_row(self, row: int) -> int:
        """Return where a row of `TensorRows` is shown, -1 if it is filtered out."""
        return int(self._place[row]) if 0 <= row < len(self._place) else -1

    def shown(self) -> NDArray[np.intp]:
        """Return the rows of `TensorRows` in the order shown; borrowed."""
        return self._shown

    # -- Qt ---------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = _NO_PARENT) -> int:
        """Return how many rows pass the filter."""
        return 0 if parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index = _NO_PARENT) -> int:
        """Return the number of columns."""
        return 0 if parent.isValid() else COLUMNS

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a header text."""
        if orientation == Qt.Orientation.Horizontal and 0 <= section < COLUMNS:
            if role == Qt.ItemDataRole.DisplayRole:
                return self._headers[section]
            if role == Qt.ItemDataRole.TextAlignmentRole and section in RIGHT_ALIGNED:
                return _RIGHT
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a cell's text, alignment or tooltip."""
        if not index.isValid() or self.rows is None:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.text(int(self._shown[index.row()]), index.column())
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() in RIGHT_ALIGNED:
            return _RIGHT
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tooltip(int(self._shown[index.row()]), index.column())
        return None

    def text(self, row: int, column: int) -> str:
        """Return what a cell of a row of `TensorRows` says."""
        rows = self.rows
        assert rows is not None
        if column == NAME:
            return str(rows.names[row])
        if column in (DTYPE, GRAD_FN):
            return rows.text("dtype" if column == DTYPE else "grad_fn", row) or MISSING
        if column in (SHAPE, STRIDE):
            return str(list(rows.sizes(row) if column == SHAPE else rows.strides(row)))
        if column == ROLE:
            return self._roles[int(rows.role[row])] if rows.role[row] < len(self._roles) else MISSING
        if column == LAYOUT:
            return self._layouts[int(rows.layout[row])]
        if column == STORAGE:
            return storage_label(int(rows.storage[row]))
        if column == OWN_BYTES:
            return format_bytes(float(rows.numel[row] * rows.itemsize_bytes[row]))
        if column == STORAGE_BYTES:
            return format_bytes(int(rows.storage_bytes[row])) if rows.storage[row] else MISSING
        if column == GRAD:
            return self.tr("yes") if rows.requires_grad[row] else self.tr("no")
        number = rows.offset[row] if column == OFFSET else rows.share_count[row]
        return f"{int(number):,}"

    def _tooltip(self, row: int, column: int) -> str | None:
        rows = self.rows
        assert rows is not None
        if column == NAME:
            return rows.names[row]
        if column == STRIDE:
            strides = [s * int(rows.itemsize_bytes[row]) for s in rows.strides(row)]
            return self.tr("In bytes: {strides}").format(strides=strides)
        if column == STORAGE:
            return self.tr("Storage at 0x{address:x}").format(address=int(rows.storage[row]))
        if column in (OWN_BYTES, STORAGE_BYTES):
            exact = (
                rows.numel[row] * rows.itemsize_bytes[row] if column == OWN_BYTES else rows.storage_bytes[row]
            )
            return self.tr("{count} bytes").format(count=f"{int(exact):,}")
        return self._layout_help[rows.layout[row]] if column == LAYOUT else None

    def _arrange(self) -> None:
        rows = self.rows
        if rows is None:
            self._shown = self._place = np.empty(0, np.intp)
            return
        text, role, layout = self._filter
        keep = np.ones(len(rows), bool)
        if role >= 0:
            keep &= rows.role == role
        if layout >= 0:
            keep &= rows.layout == layout
        if text:
            words = text.casefold().split()
            keep &= np.array([all(word in name.casefold() for word in words) for name in rows.names], bool)
        column, order = self._sort
        if column >= 0:
            keys = self._keys(rows, column)
            at = np.argsort(keys if order == Qt.SortOrder.AscendingOrder else -keys, kind="stable")
            self._shown = at[keep[at]]
        else:
            self._shown = np.flatnonzero(keep)
        self._place = np.full(len(rows), -1, np.intp)
        self._place[self._shown] = np.arange(len(self._shown))

    def _keys(self, rows: TensorRows, column: int) -> NDArray[np.float64]:
        if column in (NAME, DTYPE, GRAD_FN):
            texts = rows.texts({NAME: "name", DTYPE: "dtype", GRAD_FN: "grad_fn"}[column])
            rank = {text: i for i, text in enumerate(sorted(set(texts)))}
            return np.array([rank[text] for text in texts], float)
        if column == STRIDE:
            return np.array([max(rows.strides(row), default=0) for row in range(len(rows))], float)
        by_column: dict[int, NDArray[Any]] = {
            ROLE: rows.role, SHAPE: rows.numel, OFFSET: rows.offset, STORAGE: rows.storage_id,
            OWN_BYTES: rows.numel * rows.itemsize_bytes, STORAGE_BYTES: rows.storage_bytes,
            LAYOUT: rows.layout, SHARED: rows.share_count, GRAD: rows.requires_grad,
        }  # fmt: skip
        return by_column[column].astype(float)


def storage_label(address: int) -> str:
    """Return the end of a storage's address: short, and the same for as long as it lives."""
    return f"…{address & 0xFFFFFF:06x}" if address else MISSING
