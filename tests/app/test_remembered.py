"""What the window remembers between starts, and what it says of errors nobody caught."""

import threading

import pytest
from PySide6.QtWidgets import QListWidget

from tensorscope.app.application import ErrorHub, WindowRequest, make_window
from tensorscope.app.settings import Settings, settings_file


def test_that_recent_files_are_offered_and_those_that_are_gone_are_greyed(
    window, sample_file, tmp_path, qtbot
):
    for path in (tmp_path / "gone.tscope", sample_file):
        window.settings.add_recent_file(path)
    window.welcome.show_recent(window.settings.recent_files)
    window.recent_menu.aboutToShow.emit()
    offered = {action.text(): action.isEnabled() for action in window.recent_menu.actions()}
    assert offered == {str(sample_file): True, str(tmp_path / "gone.tscope"): False}
    items = window.welcome.findChild(QListWidget, "recentFiles")
    assert [bool(items.item(row).flags()) for row in range(2)] == [True, False]
    items.itemActivated.emit(items.item(0))
    qtbot.waitUntil(lambda: window.controller.session is not None, timeout=20_000)


def test_that_settings_can_be_forgotten(qapp, tmp_path, qtbot):
    settings = Settings()
    settings.theme = "dark"
    settings.add_recent_file(tmp_path / "a.tscope")
    assert settings_file().is_relative_to(tmp_path), "tests never touch the person's own settings"
    window = make_window(qapp, WindowRequest(reset_settings=True))
    qtbot.addWidget(window)
    assert (window.settings.theme, window.settings.recent_files) == ("auto", [])


@pytest.fixture
def hub(monkeypatch):
    made = ErrorHub()
    monkeypatch.setattr("sys.excepthook", made._on_exception)
    monkeypatch.setattr("threading.excepthook", made._on_thread_exception)
    return made


def test_that_an_error_in_a_thread_becomes_a_notice_and_a_line_in_the_log(window, hub, qtbot):
    hub.failed.connect(window.on_error)

    def fail():
        raise OSError("the disk is full")

    for _ in range(3):
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
    qtbot.waitUntil(lambda: bool(window.notices.notices) and window.notices.notices[0].count == 3)
    (notice,) = window.notices.notices
    assert notice.severity == "error"
    assert "OSError: the disk is full" in notice.text
    assert "Traceback" not in notice.text
    qtbot.waitUntil(lambda: window.log.text().count("Traceback") == 3)
