"""The list of the largest blocks alive at a moment."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPixmap

from tensorscope.core.units import MISSING, format_bytes
from tensorscope.models.live_blocks import AliveBlock
from tensorscope.views.names import Names

Index = QModelIndex | QPersistentModelIndex


class BlockItemModel(QAbstractTableModel):
    """One row a block: size, what it is, since when."""

    def __init__(self, names: Names, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._names = names
        self._blocks: list[AliveBlock] = []
        self._icons: list[QIcon] = []
        self._looks: tuple[tuple[QColor, ...], int] = (), 0

    def set_blocks(self, blocks: list[AliveBlock]) -> None:
        """Show `blocks`."""
        if blocks != self._blocks:
            self.beginResetModel()
            self._blocks = blocks
            self.endResetModel()

    def set_colours(self, colours: tuple[QColor, ...], size_px: int) -> None:
        """Set the swatch of each category; none where they would be taken for something else."""
        if (colours, size_px) == self._looks:
            return
        self._looks = colours, size_px
        self._icons = []
        for colour in colours:
            swatch = QPixmap(QSize(size_px, size_px))
            swatch.fill(colour)
            self._icons.append(QIcon(swatch))
        self.layoutChanged.emit()

    def block(self, row: int) -> AliveBlock:
        """Return the block in `row`."""
        return self._blocks[row]

    def row_of(self, address: int, alloc_row: int) -> int:
        """Return the row of the block that event `alloc_row` put at `address`, -1 if it is not listed."""
        wanted = address, alloc_row
        return next((i for i, block in enumerate(self._blocks) if (block.address, block.row) == wanted), -1)

    def headers(self) -> list[str]:
        """Return the header texts."""
        return [self.tr("Size"), self.tr("Where"), self.tr("Since step")]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's own default)
        """Return the number of blocks listed."""
        return 0 if parent.isValid() else len(self._blocks)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's own default)
        """Return the number of columns."""
        return 0 if parent.isValid() else 3

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return text, swatch or alignment."""
        block, column = self._blocks[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            if column == 0:
                return format_bytes(block.size_bytes)
            return (block.label or MISSING) if column == 1 else self._since(block)
        if role == Qt.ItemDataRole.ToolTipRole:
            return (
                f"{self._names.categories()[block.category]} · {block.label or MISSING} · 0x{block.address:x}"
            )
        if role == Qt.ItemDataRole.DecorationRole and column == 0 and self._icons:
            return self._icons[block.category]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignLeft if column == 1 else Qt.AlignmentFlag.AlignRight
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def _since(self, block: AliveBlock) -> str:
        return str(block.step) if block.step >= 0 else self.tr("before")

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a header text."""
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self.headers()[section]
        return None
