"""The window: panels round one session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QSize, Qt, QTimer
from PySide6.QtGui import QAction, QCloseEvent, QDragEnterEvent, QDropEvent, QKeySequence
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QLabel,
    QMainWindow,
    QMenu,
    QToolBar,
)

from tensorscope.app.actions import MENUS, SPECS, ActionRegistry
from tensorscope.app.dock_layout import DEFAULT_SIZE_PX, DockLayout
from tensorscope.app.live_pump import LivePump
from tensorscope.app.log_panel import LogPanel
from tensorscope.app.notice_bar import NoticeBar
from tensorscope.app.opening_bar import OpeningBar
from tensorscope.app.range_dialog import RangeDialog
from tensorscope.app.session_controller import SessionController
from tensorscope.app.session_opening import Opening
from tensorscope.app.settings import Settings
from tensorscope.app.status_panel import StatusPanel
from tensorscope.app.step_bar import StepBar
from tensorscope.app.theme import apply_theme
from tensorscope.app.view_registry import VIEW_CLASSES, ViewImport, build_view
from tensorscope.app.welcome_page import WelcomePage
from tensorscope.models.session_model import SessionModel
from tensorscope.views.findings.findings_view import FindingsView
from tensorscope.views.session_view import SessionView

PANELS = (*VIEW_CLASSES, "log")
_TOOLBAR = ("session.pause", "session.follow", "session.deep", "file.record")


class MainWindow(QMainWindow):
    """One window, at most one session. What it does is in `WindowCommands`."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.setObjectName("mainWindow")
        self.settings = settings
        self.actions_by_id = ActionRegistry(self)
        self.controller = SessionController(self)
        self.views: dict[str, SessionView] = {}
        self.pump = LivePump(self._list_views, self)
        self._menus: dict[str, QMenu] = {}
        self._waiting_views = list(VIEW_CLASSES)
        self._view_import = ViewImport(self)
        self._behind: list[SessionView] = []
        """Views that still show the session before."""
        self._restored = False
        self._build_ui()
        self._connect()
        self.setAcceptDrops(True)
        self.resize(*DEFAULT_SIZE_PX)
        self.setMinimumSize(QSize(1024, 640))
        self._show_welcome(True)
        self.retranslate()

    # -- building -------------------------------------------------------------------------------

    def _build_ui(self) -> None:
        self.welcome = WelcomePage(self.actions_by_id, self)
        self.notices = NoticeBar(self)
        self.log = LogPanel(self)
        self.setDockNestingEnabled(True)
        self.setCentralWidget(self.welcome)
        self._build_toolbar()
        self.docks: dict[str, QDockWidget] = {}
        for number, name in enumerate(PANELS, 1):
            dock = QDockWidget(self)
            dock.setObjectName(f"dock_{name}")
            dock.setWidget(self.log if name == "log" else QLabel(dock))
            self.docks[name] = dock
            dock.toggleViewAction().setObjectName(f"view.panel_{name}")
            raise_action = QAction(dock)
            raise_action.setObjectName(name)
            raise_action.setShortcut(QKeySequence(f"Ctrl+{number}"))
            raise_action.triggered.connect(self._on_raise)
            self.addAction(raise_action)
        self.dock_layout = DockLayout(self, self.docks)
        self.status = StatusPanel(self)
        self.opening = OpeningBar(self)
        self.statusBar().addWidget(self.status, 1)
        self.statusBar().addPermanentWidget(self.opening)
        self.opening.hide()  # the status bar has shown it
        self._build_menus()

    def _build_toolbar(self) -> None:
        bar = QToolBar(self)
        bar.setObjectName("mainToolBar")
        bar.setMovable(False)
        for name in _TOOLBAR:
            bar.addAction(self.actions_by_id[name])
        self.step_bar = StepBar(bar)
        bar.addWidget(self.step_bar)
        self.tool_bar = bar
        self.addToolBar(bar)
        # The notices lie in a tool bar of their own, above all docks; it is only there when they are.
        notice_bar = QToolBar(self)
        notice_bar.setObjectName("noticeToolBar")
        notice_bar.setMovable(False)
        notice_bar.addWidget(self.notices)
        notice_bar.hide()
        self.notices.shown_changed.connect(notice_bar.setVisible)
        self.notice_bar = notice_bar
        self.addToolBarBreak()
        self.addToolBar(notice_bar)

    def _build_menus(self) -> None:
        for name in MENUS:
            menu = self.menuBar().addMenu("")
            menu.setObjectName(f"menu_{name}")
            self._menus[name] = menu
            group = 0
            if name == "view":
                for dock in self.docks.values():
                    menu.addAction(dock.toggleViewAction())
            for spec in SPECS:
                if spec.menu != name:
                    continue
                if spec.group != group:
                    menu.addSeparator()
                    group = spec.group
                menu.addAction(self.actions_by_id[spec.action_id])
            if name == "file":
                self.recent_menu = QMenu(menu)
                menu.insertMenu(self.actions_by_id["file.demo"], self.recent_menu)

    def _connect(self) -> None:
        self.controller.session_opened.connect(self._on_opened)
        self.controller.session_closed.connect(self._on_closed)
        self.controller.noticed.connect(self.notices.show_notice)
        self.controller.choice_asked.connect(self._on_choice_asked)
        self.controller.opening_changed.connect(self.opening.follow)
        self.opening.cancelled.connect(self.controller.cancel_opening)
        self.pump.ticked.connect(self._on_tick)
        self.pump.view_failed.connect(self._on_view_failed)
        self.welcome.file_requested.connect(self._on_recent)
        self.recent_menu.triggered.connect(self._on_recent_action)
        self.recent_menu.aboutToShow.connect(self._fill_recent)

    # -- views ----------------------------------------------------------------------------------

    def prepare_views(self) -> None:
        """Import the views in a thread, then build them."""
        self._view_import.done.connect(self.build_views)
        self._view_import.start()

    def build_views(self) -> None:
        """Build one waiting view now and the others one an event-loop turn, so that no turn is long."""
        if not self._waiting_views:
            return
        name = self._waiting_views.pop(0)
        view = build_view(name)
        self.views[name] = view
        placeholder = self.docks[name].widget()
        self.docks[name].setWidget(view)
        placeholder.deleteLater()
        if isinstance(view, FindingsView):
            view.open_requested.connect(self.raise_panel)
        if self.controller.session is not None:
            view.set_session(self.controller.session)
        QTimer.singleShot(0, self.build_views)

    def view(self, name: str) -> SessionView:
        """Return a view, built if need be."""
        while name not in self.views:
            self.build_views()
        return self.views[name]

    def focused_view(self) -> SessionView | None:
        """Return the view that has the focus, else the first visible one."""
        focus = self.focusWidget()
        visible = [view for view in self.views.values() if view.isVisible()]
        for view in visible:
            if focus is not None and (view is focus or view.isAncestorOf(focus)):
                return view
        return visible[0] if visible else None

    def is_idle(self) -> bool:
        """Whether everything is built and every visible view shows what is known."""
        return not self._waiting_views and not self._behind and self.pump.is_idle()

    def _list_views(self) -> list[SessionView]:
        return list(self.views.values())

    def _show_welcome(self, shown: bool) -> None:
        if shown:
            self.welcome.show_recent(self.settings.recent_files)
        self.welcome.setVisible(shown)
        self.tool_bar.setVisible(not shown)
        if shown:
            for dock in self.docks.values():
                dock.hide()
            return
        first, self._restored = not self._restored, True
        if not self.dock_layout.restore(self.settings, with_window=first):
            self.dock_layout.apply_default()
            # Sizes are only known once the docks have been laid out.
            QTimer.singleShot(0, self.dock_layout.apply_default)
        self.notice_bar.setVisible(bool(self.notices.notices))  # no matter how it was when that was kept

    # -- what happens ---------------------------------------------------------------------------

    def _on_opened(self, session: SessionModel) -> None:
        self._show_welcome(False)
        # What can be seen comes first; one view an event-loop turn, so that no turn is long.
        self._behind = sorted(self.views.values(), key=lambda view: not view.isVisible())
        self._catch_up()
        self.step_bar.set_session(session)
        self.status.set_session(session)
        self.pump.set_session(session)
        self.setWindowTitle(f"{session.title} — TensorScope" if session.title else "TensorScope")

    def _catch_up(self) -> None:
        if self._behind and self.controller.session is not None:
            self._behind.pop(0).set_session(self.controller.session)
            QTimer.singleShot(0, self._catch_up)

    def _on_closed(self) -> None:
        self._behind = []
        self.dock_layout.save(self.settings)
        session = SessionModel()
        for view in self.views.values():
            view.set_session(session)
        self.step_bar.set_session(session)
        self.status.set_session(None)
        self.setWindowTitle("TensorScope")
        self._show_welcome(True)

    def _on_choice_asked(self, opening: Opening, summary: dict[str, Any]) -> None:
        """Ask for a part of a large file; the window goes on meanwhile."""
        dialog = RangeDialog(opening.name, summary, self)
        if dialog.exec():
            opening.choose(dialog.choice())
        else:
            self.controller.cancel_opening()
        dialog.deleteLater()

    def _on_tick(self) -> None:
        self.controller.watch()
        self.status.refresh()

    def _on_view_failed(self, view_id: str, reason: str) -> None:
        text = self.tr("The {view} view could not draw this session: {reason}. Details are in the log.")
        self.notices.show_notice("error", text.format(view=self.docks[view_id].windowTitle(), reason=reason))

    def _on_raise(self) -> None:
        self.raise_panel(self.sender().objectName())

    def raise_panel(self, name: str) -> None:
        """Show a panel in front and give it the focus."""
        dock = self.docks.get(name)
        if dock is None:
            return
        dock.show()
        dock.raise_()
        dock.widget().setFocus()

    def open_path(self, path: Path) -> None:
        """Open a session file, whose format is judged by its content."""
        self.controller.open_file(path)
        self.settings.add_recent_file(path)

    def _on_recent(self, path: str) -> None:
        self.open_path(Path(path))

    def _fill_recent(self) -> None:
        self.recent_menu.clear()
        for path in self.settings.recent_files:
            self.recent_menu.addAction(path).setEnabled(Path(path).exists())

    def _on_recent_action(self, action: QAction) -> None:
        self.open_path(Path(action.text()))

    def on_error(self, text: str) -> None:
        """Show an error that nobody caught."""
        message = self.tr("Something went wrong in the window: {reason}. Details are in the log.")
        self.notices.show_notice("error", message.format(reason=text))

    def follow_system_colours(self) -> None:
        """Take the light or dark look of the desktop, if the person wants that."""
        application = QApplication.instance()
        if self.settings.theme == "auto" and isinstance(application, QApplication):
            apply_theme(application, "auto")

    # -- Qt -------------------------------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take files."""
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open the first local file that was dropped."""
        paths = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
        if not paths:
            self.notices.show_notice("warning", self.tr("Only files on this machine can be dropped here."))
            return
        event.acceptProposedAction()
        self.open_path(paths[0])

    def closeEvent(self, event: QCloseEvent) -> None:
        """Leave the program alone, keep the layout."""
        self.pump.stop()
        if self.controller.session is not None:
            self.dock_layout.save(self.settings)
        self.controller.session_closed.disconnect(self._on_closed)
        self.controller.close()
        self.log.detach()
        super().closeEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self.retranslate()

    def retranslate(self) -> None:
        """Take texts of the current language."""
        self.actions_by_id.retranslate()
        for name, title in self.actions_by_id.menu_titles().items():
            self._menus[name].setTitle(title)
        self.recent_menu.setTitle(self.tr("Open recent"))
        for name, title in self._panel_titles().items():
            self.docks[name].setWindowTitle(title)
        self.tool_bar.setWindowTitle(self.tr("Toolbar"))
        self.tool_bar.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)

    def _panel_titles(self) -> dict[str, str]:
        return {
            "steps": self.tr("Steps"),
            "memory": self.tr("Memory"),
            "memory_details": self.tr("Memory details"),
            "graph": self.tr("Graph"),
            "tensor": self.tr("Tensors"),
            "lab": self.tr("Lab"),
            "findings": self.tr("Findings"),
            "log": self.tr("Log"),
        }
