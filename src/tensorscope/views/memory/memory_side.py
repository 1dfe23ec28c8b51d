"""What stands beside the timeline: the series, the blocks of a moment, and the selected block."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QSplitter, QStackedLayout, QTabWidget, QWidget

from tensorscope.views.memory.block_details import BlockDetails
from tensorscope.views.memory.block_list import BlockList
from tensorscope.views.memory.series_legend import SeriesLegend
from tensorscope.views.names import Names

LEAST_HEIGHT_EM, LEAST_WIDTH_EM = 34, 56
"""Least size of the view, in heights of a line, at which parts stand below one another, with all columns."""


class MemorySide(QWidget):
    """Three parts below one another where there is room, else as tabs. GUI thread."""

    def __init__(self, names: Names, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.legend = SeriesLegend(self)
        self.blocks = BlockList(names, self)
        self.details = BlockDetails(names, self)
        self._column = QSplitter(Qt.Orientation.Vertical, self)
        self._column.setChildrenCollapsible(False)
        self._tabs = QTabWidget(self)
        self._tabs.setObjectName("memorySideTabs")
        self._tabs.setDocumentMode(True)
        self._layout = QStackedLayout(self)
        self._layout.addWidget(self._column)
        self._layout.addWidget(self._tabs)
        self._is_tabbed: bool | None = None
        self.details.told_changed.connect(self._show_details)
        self.set_room(10**6, 10**6)

    def minimumSizeHint(self) -> QSize:
        """Never ask for more height than a few lines: the parts scroll."""
        return QSize(super().minimumSizeHint().width(), 8 * self.fontMetrics().height())

    def set_room(self, width_px: int, height_px: int) -> None:
        """Choose the arrangement for a view of that size."""
        em = self.fontMetrics().height()
        compact = width_px < LEAST_WIDTH_EM * em
        self.legend.set_compact(compact)
        self.blocks.set_compact(compact)
        self._arrange(height_px < LEAST_HEIGHT_EM * em)

    def _arrange(self, tabbed: bool) -> None:
        if tabbed == self._is_tabbed:
            return
        self._is_tabbed = tabbed
        for part in (self.legend, self.blocks, self.details):
            if tabbed:
                self._tabs.addTab(part, "")
            else:
                self._column.addWidget(part)
                part.show()
        self._column.setStretchFactor(1, 1)
        self._column.setStretchFactor(2, 1)
        self._layout.setCurrentWidget(self._tabs if tabbed else self._column)
        self._show_details()
        self._name_tabs()

    def _show_details(self) -> None:
        if self._is_tabbed:
            self._tabs.setTabVisible(2, self.details.tells)
        else:
            self.details.setVisible(self.details.tells)

    def _name_tabs(self) -> None:
        for index, text in enumerate((self.tr("Series"), self.tr("Blocks"), self.tr("Selected"))):
            if index < self._tabs.count():
                self._tabs.setTabText(index, text)

    def retranslate(self) -> None:
        """Set every text again."""
        self.legend.retranslate()
        self.details.retranslate()
        self._name_tabs()
