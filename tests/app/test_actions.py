"""The commands of the window: one registry for menus, keys, and the lists of both."""

from collections import Counter

from PySide6.QtCore import SIGNAL
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QTableWidget

from tensorscope.app.actions import SPECS
from tensorscope.app.dialogs import ShortcutsDialog


def test_that_no_key_means_two_things(window):
    keys = Counter(
        action.shortcut().toString()
        for action in window.findChildren(QAction)
        if not action.shortcut().isEmpty()
    )
    assert [key for key, count in keys.items() if count > 1] == []


def test_that_every_key_is_one_that_qt_knows():
    wrong = [spec.shortcut for spec in SPECS if QKeySequence(spec.shortcut).toString() != spec.shortcut]
    assert wrong == []


def test_that_every_command_does_something(window):
    for action in window.actions_by_id:
        assert action.receivers(SIGNAL("triggered(bool)")) > 0, action.objectName()


def test_that_what_needs_a_session_waits_for_one(window, opened):
    assert opened is window
    actions = window.actions_by_id
    assert actions["file.export"].isEnabled()
    assert actions["session.next_step"].isEnabled()
    assert not actions["session.deep"].isEnabled(), "a file cannot be asked for anything"
    actions["file.close"].trigger()
    assert not actions["file.export"].isEnabled()
    assert not actions["file.close"].isEnabled()
    assert actions["file.open"].isEnabled()


def test_that_the_list_of_keys_holds_every_key(window, qtbot):
    dialog = ShortcutsDialog(window.actions_by_id, window)
    table = dialog.findChild(QTableWidget)
    listed = {table.item(row, 0).text() for row in range(table.rowCount())}
    assert {spec.shortcut for spec in SPECS if spec.shortcut} <= listed
    dialog.deleteLater()
