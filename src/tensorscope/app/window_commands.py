"""What the actions of the window do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QFileDialog, QMessageBox

from tensorscope.app.command_palette import CommandPalette
from tensorscope.app.dialogs import AttachDialog, ShortcutsDialog
from tensorscope.app.languages import Languages
from tensorscope.app.main_window import MainWindow
from tensorscope.app.theme import apply_theme
from tensorscope.core.resource_paths import resource_path
from tensorscope.core.version import VERSION
from tensorscope.launch.target import TargetOptions
from tensorscope.models.session_model import SessionModel

_NEEDS_SESSION = ("file.record", "file.export", "file.export_data",
                  "file.report", "file.close", "session.previous_step",
                  "session.next_step", "session.follow")  # fmt: skip
_NEEDS_LIVE = (
    "session.pause",
    "session.deep",
    "session.deep_gradients",
    "session.pulse",
    "session.scope",
    "session.detach",
)
_THEMES = ("light", "dark", "auto")
_LANGUAGES = {"view.english": "en", "view.chinese": "zh_CN"}


class WindowCommands(QObject):
    """Connects the actions of one window. GUI thread."""

    def __init__(self, window: MainWindow, languages: Languages) -> None:
        super().__init__(window)
        self._window = window
        self._languages = languages
        actions = window.actions_by_id
        slots: dict[str, Callable[..., object]] = {
            "file.open": self.open_file, "file.demo": self.run_demo, "file.attach": self.attach,
            "file.record": self.record, "file.export": self.export_view, "file.report": self.export_report,
            "file.export_data": self.export_data,
            "file.close": window.controller.close, "file.quit": self.quit,
            "session.pause": self.pause, "session.follow": self.follow,
            "session.previous_step": self.previous_step, "session.next_step": self.next_step,
            "session.deep": self.deep, "session.deep_gradients": self.deep_gradients,
            "session.pulse": self.set_level, "session.scope": self.set_level,
            "session.detach": self.detach, "view.reset_layout": window.dock_layout.apply_default,
            "view.full_screen": self.full_screen, "help.palette": self.show_palette,
            "help.shortcuts": self.show_shortcuts, "help.about": self.show_about,
            **{f"view.{theme}": self.set_theme for theme in _THEMES},
            **dict.fromkeys(_LANGUAGES, self.set_language),
        }  # fmt: skip
        for action_id, slot in slots.items():
            actions.on(action_id, slot)
        window.pump.ticked.connect(self.update_state)
        window.controller.session_opened.connect(self.update_state)
        window.controller.session_closed.connect(self.update_state)
        self.update_state()

    @property
    def _session(self) -> SessionModel | None:
        return self._window.controller.session

    def update_state(self, *_: object) -> None:
        """Enable what can be done now, and check what is so."""
        actions, session = self._window.actions_by_id, self._session
        live = session is not None and session.state in ("open", "paused")
        for action_id in _NEEDS_SESSION:
            actions[action_id].setEnabled(session is not None)
        for action_id in _NEEDS_LIVE:
            actions[action_id].setEnabled(live)
        level = str(session.store.hello.get("level", "")) if session is not None else ""
        checks = {
            "session.pause": session is not None and session.paused,
            "session.follow": session is not None and session.follow,
            "session.pulse": live and level == "pulse",
            "session.scope": live and level == "scope",
            "file.record": session is not None and session.recording is not None,
            **{f"view.{theme}": self._window.settings.theme == theme for theme in _THEMES},
            **{name: self._languages.current == code for name, code in _LANGUAGES.items()},
        }
        for action_id, checked in checks.items():
            actions[action_id].setChecked(checked)

    # -- file -----------------------------------------------------------------------------------

    def open_file(self) -> None:
        """Ask for a session file and open it."""
        kinds = self.tr(
            "Sessions, memory snapshots and traces (*.tscope *.pickle *.pkl *.json *.gz);;All files (*)"
        )
        path, _ = QFileDialog.getOpenFileName(self._window, self.tr("Open a session"), "", kinds)
        if path:
            self._window.open_path(Path(path))

    def run_demo(self) -> None:
        """Start the demo that comes with us."""
        script = str(resource_path("demos/char_gpt.py"))
        self._window.controller.run_script(TargetOptions([script], quiet=True))

    def attach(self) -> None:
        """Ask for an address and attach to it."""
        dialog = AttachDialog(self._window)
        if dialog.exec() and dialog.address.text().strip():
            self._window.controller.attach(dialog.address.text().strip(), dialog.token.text() or None)
        dialog.deleteLater()

    def record(self, checked: bool) -> None:
        """Start or stop writing the session to a file."""
        controller = self._window.controller
        if not checked:
            controller.stop_recording()
            return
        title = self.tr("Record the session to")
        path, _ = QFileDialog.getSaveFileName(self._window, title, "session.tscope", "*.tscope")
        if path:
            controller.start_recording(Path(path), replace=True)  # the dialog has asked
        self.update_state()

    def export_view(self) -> None:
        """Write the view that has the focus, or the first visible one."""
        view = self._window.focused_view()
        if view is None:
            return
        kinds = ";;".join(f"{name.upper()} (*.{name})" for name in view.formats)
        start = f"{view.view_id}.{view.formats[0]}"
        path, _ = QFileDialog.getSaveFileName(self._window, self.tr("Export view"), start, kinds)
        if path:
            self.write_view(view.view_id, Path(path))

    def write_view(self, view_id: str, path: Path) -> bool:
        """Write a view in the format that the name of `path` asks for; say so if that fails."""
        view = self._window.view(view_id)
        file_format = path.suffix.lstrip(".").lower() or view.formats[0]
        try:
            view.export(path, file_format)
        except OSError as error:
            text = self.tr("Cannot write {path}: {reason}.")
            reason = error.strerror or str(error)
            self._window.notices.show_notice("error", text.format(path=path, reason=reason))
            return False
        self._window.notices.show_notice("info", self.tr("Wrote {path}").format(path=path))
        return True

    def export_data(self) -> None:
        """Write every event, every block, or a trace for Perfetto."""
        from tensorscope.models.data_files import BLOCKS, EVENTS, PERFETTO, write_data

        if self._session is None:
            return
        kinds = {
            self.tr("Every event (*.csv *.csv.gz)"): EVENTS,
            self.tr("Every block (*.csv *.csv.gz)"): BLOCKS,
            self.tr("Perfetto trace (*.json *.json.gz)"): PERFETTO,
        }
        title = self.tr("Export data")
        path, kind = QFileDialog.getSaveFileName(self._window, title, "events.csv", ";;".join(kinds))
        if not path:
            return
        try:
            write_data(self._session.store, kinds.get(kind, EVENTS), Path(path))
        except OSError as error:
            text = self.tr("Cannot write {path}: {reason}.").format(path=path, reason=error.strerror)
            self._window.notices.show_notice("error", text)
        else:
            self._window.notices.show_notice("info", self.tr("Wrote {path}").format(path=path))

    def export_report(self) -> None:
        """Write the report of the session."""
        from tensorscope.models.report import build_report
        from tensorscope.models.report_html import report_html

        session = self._session
        if session is None:
            return
        title = self.tr("Export report")
        path, _ = QFileDialog.getSaveFileName(
            self._window, title, "report.html", "HTML (*.html);;JSON (*.json)"
        )
        if not path:
            return
        report = build_report(session.store)
        as_json = path.endswith(".json")
        text = json.dumps(report, indent=2, allow_nan=False) if as_json else report_html(report, {})
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            text = self.tr("Cannot write {path}: {reason}.").format(path=path, reason=error.strerror)
            self._window.notices.show_notice("error", text)

    def quit(self) -> None:
        """Close the window, and so the application."""
        self._window.close()

    # -- session --------------------------------------------------------------------------------

    def pause(self) -> None:
        """Stop or resume taking in data."""
        # What the action shows may be a tick old, so the session is asked.
        if self._session is not None:
            self._session.set_paused(not self._session.paused)
            self.update_state()

    def follow(self) -> None:
        """Follow the newest step, or stay."""
        session = self._session
        if session is not None:
            follow = not session.follow
            session.go_to_step(session.last_step if follow else session.current_step, follow=follow)
            self.update_state()

    def previous_step(self) -> None:
        """Show the step before."""
        self._move(-1)

    def next_step(self) -> None:
        """Show the step after."""
        self._move(1)

    def _move(self, by: int) -> None:
        session = self._session
        if session is not None:
            session.go_to_step(max(0, min(session.last_step, session.current_step + by)))

    def deep(self) -> None:
        """Ask for a deep step."""
        self._window.controller.send("deep")

    def deep_gradients(self) -> None:
        """Ask for a deep step that measures gradients."""
        self._window.controller.send("deep", gradients=True)

    def set_level(self) -> None:
        """Change how much is captured."""
        self._window.controller.send("level", level=self._sent_by().rpartition(".")[2])

    def detach(self) -> None:
        """Leave the program as it was; keep what was received."""
        self._window.controller.send("detach")

    # -- view and help --------------------------------------------------------------------------

    def set_theme(self) -> None:
        """Change the colours."""
        theme = self._sent_by().rpartition(".")[2]
        self._window.settings.theme = theme
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        apply_theme(application, theme)
        self.update_state()

    def set_language(self) -> None:
        """Change the language."""
        language = _LANGUAGES[self._sent_by()]
        self._window.settings.language = language
        self._languages.use(language)
        self.update_state()

    def full_screen(self, checked: bool) -> None:
        """Use the whole screen, or not."""
        if checked:
            self._window.showFullScreen()
        else:
            self._window.showNormal()

    def show_palette(self) -> None:
        """Find a command by typing."""
        CommandPalette(list(self._window.actions_by_id), self._window).exec()

    def show_shortcuts(self) -> None:
        """Show every key."""
        ShortcutsDialog(self._window.actions_by_id, self._window).exec()

    def show_about(self) -> None:
        """Say who we are."""
        text = self.tr(
            "TensorScope {version} is free software under the MIT licence. It uses Qt for Python (PySide6) "
            "under the LGPL version 3, as a separate library that you may replace, pyqtgraph (MIT), "
            "numpy (BSD), psygnal (BSD) and platformdirs (MIT)."
        )
        QMessageBox.about(self._window, "TensorScope", text.format(version=VERSION))

    def _sent_by(self) -> str:
        sender = self.sender()
        assert isinstance(sender, QAction)
        return sender.objectName()
