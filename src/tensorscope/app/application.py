"""Starts the window."""

from __future__ import annotations

import faulthandler
import logging
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TextIO

import platformdirs
from PySide6.QtCore import QMessageLogContext, QObject, Qt, QTimer, QtMsgType, Signal, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from tensorscope.app.languages import Languages
from tensorscope.app.main_window import MainWindow
from tensorscope.app.quit_signals import QuitSignals
from tensorscope.app.settings import Settings
from tensorscope.app.theme import apply_theme
from tensorscope.app.window_commands import WindowCommands
from tensorscope.core.version import VERSION
from tensorscope.launch.target import Target, TargetOptions

LOGGER = logging.getLogger("tensorscope")


@dataclass(frozen=True)
class WindowRequest:
    """What the window should show first; at most one of `paths`, `address` and `script`.

    Each of `paths` has a window of its own, so that sessions can be looked at side by side.
    """

    paths: tuple[Path, ...] = ()
    address: str = ""
    token: str | None = None
    record: Path | None = None
    steps: int = 0
    script: TargetOptions | None = None
    reset_settings: bool = False


class ErrorHub(QObject):
    """Brings errors that nobody caught, from any thread, to the log and the notices."""

    failed = Signal(str)

    def install(self) -> None:
        """Take over the hooks of Python and Qt."""
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception
        qInstallMessageHandler(self._on_qt_message)

    def _on_exception(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        LOGGER.error("Something went wrong", exc_info=(kind, error, trace))
        self.failed.emit(f"{kind.__name__}: {error}")

    def _on_thread_exception(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            self._on_exception(args.exc_type, args.exc_value, args.exc_traceback)

    @staticmethod
    def _on_qt_message(kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
        level = logging.INFO if kind in (QtMsgType.QtDebugMsg, QtMsgType.QtInfoMsg) else logging.WARNING
        LOGGER.log(level, "Qt: %s", text)


def make_window(application: QApplication, request: WindowRequest) -> MainWindow:
    """Return the window as the settings have it, not shown yet."""
    settings = Settings()
    if request.reset_settings:
        settings.reset()
    apply_theme(application, settings.theme)
    languages = Languages(application)
    languages.use(settings.language)
    window = MainWindow(settings)
    WindowCommands(window, languages)
    hints = application.styleHints()
    hints.colorSchemeChanged.connect(window.follow_system_colours)
    return window


def start_request(window: MainWindow, request: WindowRequest) -> None:
    """Open what was asked for."""
    if request.script is not None:
        window.controller.run_script(request.script)
    elif request.address:
        window.controller.attach(request.address, request.token, request.record, request.steps)
    elif request.paths:
        window.open_path(request.paths[0])


def open_windows(application: QApplication, request: WindowRequest) -> list[MainWindow]:
    """Show a window on what was asked for, and one more for each further file."""
    requests = [request, *(WindowRequest(paths=(path,)) for path in request.paths[1:])]
    windows = []
    for wanted in requests:
        window = make_window(application, wanted)
        window.show()
        start_request(window, wanted)
        QTimer.singleShot(0, window.prepare_views)  # after the first paint
        windows.append(window)
    return windows


def run_window(request: WindowRequest) -> int:
    """Show the window until it is closed; return the exit code."""
    QApplication.setAttribute(Qt.ApplicationAttribute.AA_DontShowIconsInMenus)
    application = QApplication(sys.argv[:1])
    application.setApplicationName("TensorScope")
    application.setApplicationVersion(VERSION)
    application.setDesktopFileName("tensorscope")
    crash_file = _enable_crash_file()
    hub = ErrorHub()
    hub.install()
    windows = open_windows(application, request)
    quit_signals = QuitSignals()
    for window in windows:
        hub.failed.connect(window.on_error)
        quit_signals.asked.connect(window.close)
    code = application.exec()
    quit_signals.restore()
    qInstallMessageHandler(None)
    sys.excepthook = sys.__excepthook__
    if crash_file is not None:
        faulthandler.disable()
        crash_file.close()
    for target in windows[0].controller.left_running:
        code = code or _wait_for(target)
    return code


def _wait_for(target: Target) -> int:
    """Wait for a program that goes on without its window, as a shell would; return 0 or 1."""
    sys.stderr.write(f"tensorscope: {target.name} goes on without the window; Ctrl-C stops it.\n")
    try:
        return int(target.process.wait() != 0)
    except KeyboardInterrupt:
        target.wait_after_interrupt()
        raise


def _enable_crash_file() -> TextIO | None:
    """Have crashes of native code written to a file, where one can be made."""
    try:
        folder = Path(platformdirs.user_cache_dir("tensorscope"))
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / "crash.log").open("w", encoding="utf-8")
    except OSError:
        return None
    faulthandler.enable(file)
    return file
