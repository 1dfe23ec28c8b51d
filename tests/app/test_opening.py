"""Opening something that takes its time."""

import sys
import threading

from PySide6.QtWidgets import QProgressBar, QToolButton

from tensorscope.app import session_opening
from tensorscope.app.application import WindowRequest, make_window, open_windows
from tensorscope.launch.target import TargetOptions
from tests.support.sample_file import sample_session_file


def shown(qapp, qtbot):
    window = make_window(qapp, WindowRequest())
    qtbot.addWidget(window)
    window.show()
    return window


def test_that_each_of_several_files_has_a_window(qapp, qtbot, tmp_path):
    paths = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        paths.append(sample_session_file(tmp_path / name, steps=3).rename(tmp_path / f"{name}.tscope"))
    windows = open_windows(qapp, WindowRequest(paths=tuple(paths)))
    for window in windows:
        qtbot.addWidget(window)
    qtbot.waitUntil(
        lambda: all(window.controller.session and window.is_idle() for window in windows), timeout=20_000
    )
    assert [window.controller.session.title for window in windows] == ["one.tscope", "two.tscope"]
    assert all(window.isVisible() for window in windows)


def test_that_reading_a_file_can_be_given_up(qapp, qtbot, tmp_path, monkeypatch):
    window = shown(qapp, qtbot)
    go_on, asked = threading.Event(), threading.Event()
    load_session = session_opening.load_session
    answers = []

    def slow(path, progress, **options):
        answers.append(progress(25, 100))
        asked.set()
        assert go_on.wait(20)
        answers.append(progress(50, 100))
        return load_session(path, progress, **options)

    monkeypatch.setattr(session_opening, "load_session", slow)
    assert not window.opening.isVisible()
    window.open_path(sample_session_file(tmp_path))
    assert window.opening.isVisible()
    bar = window.opening.findChild(QProgressBar)
    qtbot.waitUntil(lambda: (bar.value(), bar.maximum()) == (25, 100))
    opening = window.controller._opening
    window.opening.findChild(QToolButton, "cancelOpening").click()
    assert not window.opening.isVisible()
    with qtbot.waitSignal(opening.opened):
        go_on.set()
    assert answers == [True, False]
    assert window.controller.session is None
    assert window.welcome.isVisible()


def test_that_starting_a_script_can_be_given_up_and_leaves_no_process(qapp, qtbot, tmp_path, monkeypatch):
    script = tmp_path / "slow.py"
    script.write_text("import time\ntime.sleep(600)\n")
    window = shown(qapp, qtbot)
    window.controller.run_script(TargetOptions([str(script)], python=sys.executable, quiet=True))
    opening = window.controller._opening
    qtbot.waitUntil(lambda: opening.target is not None, timeout=20_000)
    stop, stopping = opening.target.stop, []
    monkeypatch.setattr(opening.target, "stop", lambda: (stopping.append(threading.current_thread()), stop()))
    window.opening.findChild(QToolButton, "cancelOpening").click()
    qtbot.waitUntil(lambda: opening.target.process.poll() is not None, timeout=20_000)
    assert not window.opening.isVisible()
    assert window.controller.session is None
    assert stopping
    assert threading.main_thread() not in stopping, "a program may take seconds to end"
