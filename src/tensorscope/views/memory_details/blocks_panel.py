"""The blocks that are alive at the moment looked at, largest first."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from PySide6.QtCore import QModelIndex
from PySide6.QtWidgets import QHeaderView, QLabel, QTableView, QVBoxLayout, QWidget

from tensorscope.core.schema import CATEGORIES
from tensorscope.models.live_blocks import AliveBlock, LiveBlocks
from tensorscope.models.selection import Selection
from tensorscope.models.session_model import SessionModel
from tensorscope.views.items.chart_theme import chart_theme
from tensorscope.views.memory.block_item_model import BlockItemModel
from tensorscope.views.memory_details.memory_panel import MemoryPanel
from tensorscope.views.names import Names


class BlocksPanel(MemoryPanel):
    """A table; a click selects the block in every view."""

    panel_id: ClassVar[str] = "blocks"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("blocksPanel")
        self._session = SessionModel()
        self._living = LiveBlocks(self._session.store)
        self._shown: tuple[int, int | None] = (-1, None)
        self._blocks: list[AliveBlock] = []
        self._heading = QLabel(self)
        self._heading.setMargin(6)
        self._model = BlockItemModel(Names(self), self)
        self._list = QTableView(self)
        self._list.setObjectName("blocksTable")
        self._list.setModel(self._model)
        self._list.verticalHeader().hide()
        self._list.setShowGrid(False)
        self._list.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self._list.horizontalHeader().setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        self._list.activated.connect(self._on_chosen)
        self._list.clicked.connect(self._on_chosen)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._heading)
        layout.addWidget(self._list, 1)

    def set_session(self, session: SessionModel) -> None:
        """Show another session."""
        self._session.moment_changed.disconnect(self._on_moment, missing_ok=True)
        self._session = session
        self._living = LiveBlocks(session.store)
        self._shown = (-1, None)
        session.moment_changed.connect(self._on_moment)

    def refresh(self) -> None:
        """List the blocks of the moment, of the newest event without one."""
        store, moment = self._session.store, self._session.moment_ns
        rows = len(store.tables["alloc"])
        if moment is not None:
            rows = int(np.searchsorted(store.tables["alloc"]["t_ns"], moment + store.origin_ns, side="right"))
        if self._shown == (rows, moment):
            return
        self._shown = rows, moment
        self._living.update(rows)
        self._blocks, count = self._living.largest(rows)
        self._model.set_blocks(self._blocks)
        self._heading.setText(self.tr("{count} blocks alive, largest first").format(count=f"{count:,}"))

    def retranslate(self) -> None:
        """Set every text again."""
        self._shown = (-1, None)

    def retheme(self) -> None:
        """Take the colours of the palette."""
        self._model.set_colours(chart_theme(self).categories, max(8, self.fontMetrics().ascent() - 2))

    def csv_table(self) -> tuple[list[str], list[list[object]]]:
        """Return the blocks listed."""
        rows: list[list[object]] = [
            [f"0x{b.address:x}", b.size_bytes, CATEGORIES[b.category], b.label, b.device, b.step]
            for b in self._blocks
        ]
        return ["address", "size_bytes", "category", "where", "device", "step"], rows

    def _on_moment(self, _moment: object) -> None:
        if self.isVisible():
            self.refresh()

    def _on_chosen(self, index: QModelIndex) -> None:
        block = self._model.block(index.row())
        self._session.select(Selection(storage=block.address, alloc_row=block.row))
