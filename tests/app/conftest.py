"""Windows and sessions for the tests of the shell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tensorscope.app.application import WindowRequest, make_window
from tensorscope.app.main_window import MainWindow
from tensorscope.app.theme import apply_theme
from tests.support.demo_session import record_demo
from tests.support.sample_file import sample_session_file


@pytest.fixture(scope="session")
def demo_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session file of the real demo, recorded once."""
    return record_demo(tmp_path_factory.mktemp("demo") / "demo.tscope")


@pytest.fixture(scope="session")
def sample_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session file with made-up numbers, quickly there."""
    return sample_session_file(tmp_path_factory.mktemp("sample"))


@pytest.fixture
def new_window(qtbot: QtBot, qapp) -> Iterator[Callable[[], MainWindow]]:
    """Makes windows as the application does; at the end they are closed and the application is as before."""
    made: list[MainWindow] = []

    def make() -> MainWindow:
        window = make_window(qapp, WindowRequest())
        made.append(window)
        window.show()
        window.build_views()
        qtbot.waitUntil(lambda: not window._waiting_views, timeout=20_000)
        return window

    yield make
    for window in made:
        window.actions_by_id["view.english"].trigger()
        window.close()
        window.deleteLater()
    apply_theme(qapp, "light")
    qtbot.wait(1)


@pytest.fixture
def window(new_window) -> MainWindow:
    """The window with no session."""
    return new_window()


@pytest.fixture
def opened(window: MainWindow, sample_file: Path, qtbot: QtBot) -> MainWindow:
    """The window on the sample file."""
    window.open_path(sample_file)
    qtbot.waitUntil(lambda: window.controller.session is not None and window.is_idle(), timeout=20_000)
    return window
