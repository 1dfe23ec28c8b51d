"""Where the panels are, and that they are there again."""

import pytest
from PySide6.QtCore import QByteArray, QSettings, QSize

from tensorscope.app.dock_layout import DEFAULT_SIZE_PX
from tensorscope.app.settings import settings_file


def open_file(window, path, qtbot):
    window.open_path(path)
    qtbot.waitUntil(lambda: window.controller.session is not None, timeout=20_000)
    qtbot.wait(20)  # sizes are set once the docks have been laid out
    return window


def hidden(window):
    return {name for name, dock in window.docks.items() if dock.isHidden()}


def test_that_every_panel_is_there_at_first(opened, qtbot):
    qtbot.wait(20)
    assert opened.size() == QSize(*DEFAULT_SIZE_PX)
    assert hidden(opened) == set()
    for name in ("steps", "memory", "graph"):
        size = opened.docks[name].size()
        assert size.width() > 500, name
        assert size.height() > 350, name


@pytest.mark.parametrize("number", range(1, 8))
def test_that_a_panel_comes_to_the_front_by_its_number(opened, number):
    name = list(opened.docks)[number - 1]
    opened.docks[name].hide()
    opened.findChild(type(opened.actions_by_id["file.open"]), name).trigger()
    assert not opened.docks[name].isHidden()
    assert not opened.docks[name].visibleRegion().isEmpty()


def test_that_a_layout_survives_another_session(opened, sample_file, qtbot):
    opened.docks["lab"].hide()
    opened.actions_by_id["file.close"].trigger()
    assert hidden(opened) == set(opened.docks)
    open_file(opened, sample_file, qtbot)
    assert hidden(opened) == {"lab"}


@pytest.mark.parametrize(
    ("geometry", "state"),
    [(QByteArray(b"nonsense"), QByteArray(b"nonsense")), ("text", 7), (QByteArray(), QByteArray())],
)
def test_that_a_damaged_layout_is_as_good_as_none(new_window, sample_file, qtbot, geometry, state):
    store = QSettings(str(settings_file()), QSettings.Format.IniFormat)
    for name, value in {
        "geometry": geometry,
        "state": state,
        "theme": "pink",
        "language": 5,
        "recent": 3,
    }.items():
        store.setValue(name, value)
    store.sync()
    window = open_file(new_window(), sample_file, qtbot)
    assert hidden(window) == set()
    assert window.settings.theme == "auto"


def test_that_a_window_on_a_screen_that_is_gone_comes_back(new_window, sample_file, qtbot):
    first = open_file(new_window(), sample_file, qtbot)
    first.move(90_000, 90_000)
    first.close()
    second = open_file(new_window(), sample_file, qtbot)
    assert second.screen().availableGeometry().intersects(second.frameGeometry())


def test_that_notices_are_only_shown_where_there_are_any(new_window, sample_file, qtbot):
    first = open_file(new_window(), sample_file, qtbot)
    first.notices.show_notice("error", "The disk is full.")
    first.close()
    second = open_file(new_window(), sample_file, qtbot)
    assert not second.notices.isVisible()
    second.close()
    third = new_window()
    third.notices.show_notice("error", "The disk is full.")
    open_file(third, sample_file, qtbot)
    assert third.notices.isVisible()
