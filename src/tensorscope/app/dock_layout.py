"""Where the panels lie, and how their places are kept."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDockWidget, QMainWindow

from tensorscope.app.settings import LAYOUT_VERSION, Settings

LEFT = ("steps", "memory")
RIGHT = ("graph", "memory_details", "tensor", "lab", "findings", "log")
DEFAULT_SIZE_PX = (1400, 900)


class DockLayout:
    """The docks of one window by panel id."""

    def __init__(self, window: QMainWindow, docks: dict[str, QDockWidget]) -> None:
        self._window = window
        self._docks = docks

    def apply_default(self) -> None:
        """Steps over memory at the left; the rest as tabs at the right."""
        window, docks = self._window, self._docks
        for dock in docks.values():
            dock.setFloating(False)
            window.removeDockWidget(dock)
        window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, docks[LEFT[0]])
        window.splitDockWidget(docks[LEFT[0]], docks[LEFT[1]], Qt.Orientation.Vertical)
        window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, docks[RIGHT[0]])
        for name in RIGHT[1:]:
            window.tabifyDockWidget(docks[RIGHT[0]], docks[name])
        for dock in docks.values():
            dock.show()
        docks[RIGHT[0]].raise_()
        half = window.width() // 2
        window.resizeDocks([docks[LEFT[0]], docks[RIGHT[0]]], [half, half], Qt.Orientation.Horizontal)
        height = window.height()
        window.resizeDocks(
            [docks[LEFT[0]], docks[LEFT[1]]], [height // 2, height // 2], Qt.Orientation.Vertical
        )

    def restore(self, settings: Settings, with_window: bool = True) -> bool:
        """Put the docks (and the window) where they were; False if that is unknown, or of another version."""
        kept = settings.layout()
        if kept is None or (with_window and not self._restore_geometry(kept[0])):
            return False
        return self._window.restoreState(kept[1], LAYOUT_VERSION)

    def save(self, settings: Settings) -> None:
        """Keep where everything is."""
        settings.save_layout(self._window.saveGeometry(), self._window.saveState(LAYOUT_VERSION))

    def _restore_geometry(self, geometry: QByteArray) -> bool:
        if not self._window.restoreGeometry(geometry):
            return False
        frame = self._window.frameGeometry()
        visible = any(screen.availableGeometry().intersects(frame) for screen in QGuiApplication.screens())
        if not visible:  # the screen it was on is gone
            self._window.move(40, 40)
        return True
