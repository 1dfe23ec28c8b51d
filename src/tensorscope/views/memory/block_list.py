"""The largest blocks alive at the moment looked at, beside the timeline."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QHeaderView, QLabel, QTableView, QVBoxLayout, QWidget

from tensorscope.models.live_blocks import AliveBlock
from tensorscope.views.memory.block_item_model import BlockItemModel
from tensorscope.views.names import Names


class BlockList(QWidget):
    """A heading that names the moment, and a table."""

    chosen = Signal(object)
    """The `AliveBlock` that was clicked."""

    def __init__(self, names: Names, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._heading = QLabel(self)
        self._heading.setObjectName("memoryBlocksHeading")
        self._heading.setWordWrap(True)
        self._heading.setMargin(4)
        self._blocks = BlockItemModel(names, self)
        self._list = QTableView(self)
        self._list.setObjectName("memoryBlocks")
        self._list.setModel(self._blocks)
        self._list.verticalHeader().hide()
        self._list.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 6)
        self._list.setShowGrid(False)
        self._list.setWordWrap(False)
        self._list.setFrameShape(QTableView.Shape.NoFrame)
        self._list.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self._list.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._list.setTextElideMode(Qt.TextElideMode.ElideLeft)  # the end of a module path says most
        header, em = self._list.horizontalHeader(), self.fontMetrics()
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        self._list.setColumnWidth(0, em.horizontalAdvance("1023 KiB") + 2 * em.height())
        self._list.setColumnWidth(2, em.horizontalAdvance("Since step") + em.height())
        self._list.activated.connect(self._on_chosen)
        self._list.clicked.connect(self._on_chosen)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(self._heading)
        layout.addWidget(self._list, 1)

    def set_blocks(self, heading: str, blocks: list[AliveBlock], selected: tuple[int, int]) -> None:
        """Show blocks; the one with address and ``alloc`` row `selected` is marked."""
        self._blocks.set_blocks(blocks)
        self._heading.setText(heading)
        row = self._blocks.row_of(*selected)
        self._list.selectRow(row) if row >= 0 else self._list.clearSelection()

    def set_compact(self, compact: bool) -> None:
        """Leave out what there is no room for."""
        self._list.setColumnHidden(2, compact)

    def set_colours(self, colours: tuple[QColor, ...]) -> None:
        """Take the colours of the categories."""
        self._blocks.set_colours(colours, max(8, self.fontMetrics().ascent() - 2))

    def _on_chosen(self, index: QModelIndex) -> None:
        self.chosen.emit(self._blocks.block(index.row()))
