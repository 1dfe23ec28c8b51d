"""The commands of the window: one registry for menus, keys, and the lists of both."""

from collections import Counter

import pytest
from PySide6.QtCore import SIGNAL, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QTableWidget

from tensorscope.app.actions import MENUS, SPECS
from tensorscope.app.command_palette import CommandPalette, match_score
from tensorscope.app.dialogs import ShortcutsDialog


def test_that_ids_are_unique_and_name_their_menu():
    ids = [spec.action_id for spec in SPECS]
    assert len(set(ids)) == len(ids)
    assert {spec.menu for spec in SPECS} == set(MENUS)


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


def test_that_every_command_does_something_is_explained_and_stands_in_a_menu(window):
    in_menus = {
        action.objectName()
        for menu_action in window.menuBar().actions()
        for action in menu_action.menu().actions()
    }
    for action in window.actions_by_id:
        assert action.receivers(SIGNAL("triggered(bool)")) > 0, action.objectName()
        assert action.text(), action.objectName()
        assert action.statusTip(), action.objectName()
        assert action.objectName() in in_menus


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


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("rd", "Run the demo", "Record to file"),
        ("dark", "Dark", "Deep step dark"),
        ("el", "Export layout", "Reset layout"),
    ],
)
def test_that_starts_of_words_and_runs_of_letters_count_more(query, better, worse):
    assert match_score(query, better) > 0
    assert match_score(query, better) >= match_score(query, worse)
    assert match_score(query, "zzz") == 0


def test_that_a_command_is_found_by_letters_and_run(window, qtbot):
    palette = CommandPalette(list(window.actions_by_id), window)
    qtbot.addWidget(palette)
    palette.show()
    assert {palette.list.item(row).text().partition("\t")[0] for row in range(palette.list.count())} == {
        action.text().rstrip("…") for action in window.actions_by_id if action.isEnabled()
    }
    qtbot.keyClicks(palette.line, "dark")
    assert palette.list.currentItem().text() == "Dark"
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)
    assert window.settings.theme == "dark"
    assert not palette.isVisible()
