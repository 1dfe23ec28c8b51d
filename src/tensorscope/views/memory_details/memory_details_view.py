"""Memory in detail: tabs that each answer one question about the session's memory."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QStackedLayout, QTabBar, QVBoxLayout, QWidget

from tensorscope.models.session_model import SessionModel
from tensorscope.views.csv_file import write_csv
from tensorscope.views.memory_details.memory_panel import MemoryPanel
from tensorscope.views.memory_details.panel_registry import PANEL_CLASSES, build_panel
from tensorscope.views.session_view import SessionView


class MemoryDetailsView(SessionView):
    """Tabs over panels; a panel is built when somebody first looks at it."""

    view_id: ClassVar[str] = "memory_details"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("memoryDetailsView")
        self._session = SessionModel()
        self._panels: dict[str, MemoryPanel] = {}
        self._ids = list(PANEL_CLASSES)
        self._tabs = QTabBar(self)
        self._tabs.setObjectName("memoryDetailsTabs")
        self._tabs.setDocumentMode(True)
        self._tabs.setExpanding(False)
        self._tabs.setUsesScrollButtons(True)
        self._tabs.setElideMode(Qt.TextElideMode.ElideNone)
        for _ in self._ids:
            self._tabs.addTab("")
        self._place = QStackedLayout()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._tabs)
        layout.addLayout(self._place, 1)
        self._tabs.currentChanged.connect(self._on_tab)
        self._retranslate()

    @property
    def panel(self) -> MemoryPanel:
        """The panel of the chosen tab."""
        panel_id = self._ids[self._tabs.currentIndex()]
        panel = self._panels.get(panel_id)
        if panel is None:
            panel = self._panels[panel_id] = build_panel(panel_id)
            self._place.addWidget(panel)
            panel.retheme()
            panel.retranslate()
            panel.set_session(self._session)
        return panel

    def show_panel(self, panel_id: str) -> None:
        """Bring the tab of a panel to the front."""
        self._tabs.setCurrentIndex(self._ids.index(panel_id))
        self._on_tab()

    def title(self) -> str:
        """Return the translated name of the view."""
        return self.tr("Memory details")

    def set_session(self, session: SessionModel) -> None:
        """Show another session."""
        self._session = session
        for panel in self._panels.values():
            panel.set_session(session)
        self.refresh()

    def refresh(self) -> None:
        """Let the visible panel take in what is new."""
        self._place.setCurrentWidget(self.panel)
        self.panel.refresh()

    def is_idle(self) -> bool:
        """Return whether the visible panel has nothing to compute."""
        return self.panel.is_idle()

    def export(self, path: Path, file_format: str) -> None:
        """Write the visible panel."""
        if file_format == "csv":
            write_csv(path, *self.panel.csv_table())
        else:
            self.panel.write_picture(path, file_format)

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language; panels follow the palette themselves."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()

    def _on_tab(self) -> None:
        if self.isVisible():
            self.refresh()

    def _titles(self) -> dict[str, str]:
        return {
            "blocks": self.tr("Blocks"),
            "map": self.tr("Address map"),
            "state": self.tr("Allocator state"),
            "peaks": self.tr("Peaks"),
            "leaks": self.tr("Leaks"),
            "saved": self.tr("Saved for backward"),
            "fit": self.tr("What would fit"),
            "verdicts": self.tr("Verdicts"),
            "compare": self.tr("Compare"),
        }

    def _retranslate(self) -> None:
        titles = self._titles()
        for index, panel_id in enumerate(self._ids):
            self._tabs.setTabText(index, titles[panel_id])
