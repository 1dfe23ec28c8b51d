"""Every command of the window, once: menus, toolbar and the list of shortcuts are made from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget


@dataclass(frozen=True)
class ActionSpec:
    """What does not depend on the language.

    Attributes
    ----------
    action_id
        Dotted id, such as ``file.open``; the part before the dot is the menu.
    shortcut
        As `QKeySequence` reads it; empty for none.
    checkable
        Whether it is on or off.
    group
        Actions of one menu with another group are parted by a line.
    """

    action_id: str
    shortcut: str = ""
    checkable: bool = False
    group: int = 0

    @property
    def menu(self) -> str:
        """Id of the menu it stands in."""
        return self.action_id.partition(".")[0]


MENUS = ("file", "session", "view", "help")
SPECS = (
    ActionSpec("file.open", "Ctrl+O"),
    ActionSpec("file.demo", "Ctrl+D"),
    ActionSpec("file.attach", "Ctrl+T"),
    ActionSpec("file.record", "Ctrl+S", checkable=True, group=1),
    ActionSpec("file.export", "Ctrl+E", group=1),
    ActionSpec("file.export_data", "", group=1),
    ActionSpec("file.report", group=1),
    ActionSpec("file.close", "Ctrl+W", group=2),
    ActionSpec("file.quit", "Ctrl+Q", group=2),
    ActionSpec("session.pause", "F9", checkable=True),
    ActionSpec("session.follow", "Ctrl+L", checkable=True),
    ActionSpec("session.previous_step", "Alt+Left", group=1),
    ActionSpec("session.next_step", "Alt+Right", group=1),
    ActionSpec("session.deep", "F8", group=2),
    ActionSpec("session.deep_gradients", "Shift+F8", group=2),
    ActionSpec("session.pulse", checkable=True, group=2),
    ActionSpec("session.scope", checkable=True, group=2),
    ActionSpec("session.detach", group=3),
    ActionSpec("view.light", checkable=True, group=1),
    ActionSpec("view.dark", checkable=True, group=1),
    ActionSpec("view.auto", checkable=True, group=1),
    ActionSpec("view.english", checkable=True, group=2),
    ActionSpec("view.chinese", checkable=True, group=2),
    ActionSpec("view.reset_layout", group=3),
    ActionSpec("view.full_screen", "F11", checkable=True, group=3),
    ActionSpec("help.palette", "Ctrl+Shift+P"),
    ActionSpec("help.shortcuts", "F1"),
    ActionSpec("help.about", group=1),
)


class ActionRegistry(QObject):
    """The actions of one window, by id."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._actions: dict[str, QAction] = {}
        for spec in SPECS:
            action = QAction(window)
            action.setObjectName(spec.action_id)
            action.setCheckable(spec.checkable)
            if spec.shortcut:
                action.setShortcut(QKeySequence(spec.shortcut))
            self._actions[spec.action_id] = action
            window.addAction(action)
        self.retranslate()

    def __getitem__(self, action_id: str) -> QAction:
        return self._actions[action_id]

    def __iter__(self) -> Iterator[QAction]:
        return iter(self._actions.values())

    def on(self, action_id: str, slot: Callable[..., object]) -> None:
        """Call bound method `slot` when the action is triggered."""
        self._actions[action_id].triggered.connect(slot)

    def retranslate(self) -> None:
        """Take texts of the current language."""
        for action_id, (title, explanation) in self._texts().items():
            action = self._actions[action_id]
            action.setText(title)
            action.setIconText(title.rstrip("…"))
            shortcut = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            action.setStatusTip(explanation)
            action.setToolTip(f"{explanation} ({shortcut})" if shortcut else explanation)

    def menu_titles(self) -> dict[str, str]:
        """Return the titles of `MENUS`."""
        return {
            "file": self.tr("&File"),
            "session": self.tr("&Session"),
            "view": self.tr("&View"),
            "help": self.tr("&Help"),
        }

    def _texts(self) -> dict[str, tuple[str, str]]:
        return {**self._file_texts(), **self._session_texts(), **self._view_texts(), **self._help_texts()}

    def _file_texts(self) -> dict[str, tuple[str, str]]:
        return {
            "file.open": (self.tr("Open…"), self.tr("Open a session file")),
            "file.demo": (self.tr("Run the demo"), self.tr("Train a small model here and look at it")),
            "file.attach": (self.tr("Attach…"), self.tr("Look at a program that is running")),
            "file.record": (
                self.tr("Record to file…"),
                self.tr("Write this session, from its start, to a file"),
            ),
            "file.export_data": (
                self.tr("Export data…"),
                self.tr("Write every event, every block, or a trace for Perfetto"),
            ),
            "file.export": (self.tr("Export view…"), self.tr("Write a view as a picture or a table")),
            "file.report": (self.tr("Export report…"), self.tr("Write a report as one page or as JSON")),
            "file.close": (self.tr("Close session"), self.tr("Leave the program as it was and close")),
            "file.quit": (self.tr("Quit"), self.tr("Leave the program as it was and quit")),
        }

    def _session_texts(self) -> dict[str, tuple[str, str]]:
        return {
            "session.pause": (self.tr("Pause"), self.tr("Stop taking in data; the program goes on")),
            "session.follow": (self.tr("Follow"), self.tr("Always show the newest step")),
            "session.previous_step": (self.tr("Previous step"), self.tr("Show the step before")),
            "session.next_step": (self.tr("Next step"), self.tr("Show the step after")),
            "session.deep": (self.tr("Deep step"), self.tr("Capture graph and tensors of the next step")),
            "session.deep_gradients": (
                self.tr("Deep step with gradients"),
                self.tr("Also measure every gradient and output of the next step, which takes longer"),
            ),
            "session.pulse": (
                self.tr("Capture pulse"),
                self.tr("Steps, phases, loss and memory totals only"),
            ),
            "session.scope": (self.tr("Capture scope"), self.tr("Modules and every allocation as well")),
            "session.detach": (self.tr("Detach"), self.tr("Leave the program as it was; it goes on")),
        }

    def _view_texts(self) -> dict[str, tuple[str, str]]:
        return {
            "view.light": (self.tr("Light"), self.tr("Light colours")),
            "view.dark": (self.tr("Dark"), self.tr("Dark colours")),
            "view.auto": (self.tr("Colours of the system"), self.tr("Light or dark as the system has it")),
            "view.english": ("English", "English"),
            "view.chinese": ("简体中文", "简体中文"),
            "view.reset_layout": (self.tr("Reset layout"), self.tr("Put every panel where it was at first")),
            "view.full_screen": (self.tr("Full screen"), self.tr("Use the whole screen")),
        }

    def _help_texts(self) -> dict[str, tuple[str, str]]:
        return {
            "help.palette": (self.tr("Find a command…"), self.tr("Type the name of any command")),
            "help.shortcuts": (self.tr("Keyboard shortcuts"), self.tr("Show every key")),
            "help.about": (self.tr("About TensorScope"), self.tr("Version and licences")),
        }
