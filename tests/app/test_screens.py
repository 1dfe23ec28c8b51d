"""Pictures of the window and of every view for people to look at; what a program can see is checked here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QLabel, QTabBar, QToolButton, QWidget

from tensorscope.app.languages import Languages
from tensorscope.app.main_window import MainWindow
from tensorscope.app.session_outputs import select_example, settle
from tensorscope.app.theme import apply_theme
from tensorscope.app.view_registry import VIEW_CLASSES, build_view
from tensorscope.models.session_loading import load_session
from tensorscope.models.session_model import SessionModel

SIZE = QSize(1400, 900)
LOOKS = [(theme, language) for theme in ("light", "dark") for language in ("en", "zh_CN")]
FOLDER = Path(__file__).resolve().parents[2] / "build" / "screens"


@pytest.fixture(scope="module")
def session(demo_file: Path) -> SessionModel:
    loaded = load_session(demo_file)
    assert loaded.problems == []
    select_example(loaded)
    return loaded


@pytest.fixture
def languages(qapp) -> Iterator[Languages]:
    made = Languages(qapp)
    yield made
    made.use("en")
    apply_theme(qapp, "light")


def clipped(root: QWidget) -> list[str]:
    """Return the texts under `root` that have less room than they need."""
    found = []
    for widget in root.findChildren(QWidget):
        if not widget.isVisible() or widget.visibleRegion().isEmpty():
            continue
        if isinstance(widget, QLabel) and widget.text():
            if widget.wordWrap():
                short = widget.heightForWidth(widget.width()) > widget.height() + 1
            else:
                short = widget.sizeHint().width() > widget.width() + 1
            if short or widget.minimumSizeHint().height() > widget.height() + 1:
                found.append(f"{widget.objectName()} {widget.size().toTuple()}: {widget.text()}")
        elif isinstance(widget, QAbstractButton | QComboBox) and not _is_scroller(widget):
            text = widget.currentText() if isinstance(widget, QComboBox) else widget.text()
            room = widget.width() - widget.fontMetrics().horizontalAdvance(text.replace("&", ""))
            if text and room < 0:
                found.append(f"{widget.objectName()} {widget.width()}: {text}")
    return found


def _is_scroller(widget: QWidget) -> bool:
    return isinstance(widget, QToolButton) and isinstance(widget.parentWidget(), QTabBar)


def keep(widget: QWidget, name: str, look: tuple[str, str]) -> None:
    """Write the picture and check it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    picture = widget.grab()
    assert picture.size() == SIZE
    assert picture.save(str(FOLDER / f"{name}-{look[0]}-{look[1]}.png"))
    assert clipped(widget) == []


def put_on(look: tuple[str, str], languages: Languages, qapp: QApplication) -> None:
    apply_theme(qapp, look[0])
    languages.use(look[1])
    for _ in range(3):  # texts, then what they need, then where that goes
        qapp.processEvents()


@pytest.mark.parametrize("view_id", VIEW_CLASSES)
def test_that_every_view_has_room_for_its_texts(view_id, session, languages, qapp):
    host = QWidget()
    host.resize(SIZE)
    view = build_view(view_id)
    view.setParent(host)
    view.resize(SIZE)
    view.set_session(session)
    host.show()
    for look in LOOKS:
        put_on(look, languages, qapp)
        settle(view)
        keep(view, view_id, look)
    host.close()
    host.deleteLater()


def test_that_the_welcome_page_has_room_for_its_texts(window, languages, sample_file, qapp):
    window.settings.add_recent_file(sample_file)
    window.welcome.show_recent(window.settings.recent_files)
    for look in LOOKS:
        put_on(look, languages, qapp)
        keep(window, "welcome", look)


def test_that_the_window_has_room_for_its_texts(window, languages, demo_file, qtbot, qapp):
    window.open_path(demo_file)
    qtbot.waitUntil(lambda: window.controller.session is not None, timeout=30_000)
    qtbot.waitUntil(window.is_idle, timeout=30_000)
    select_example(window.controller.session)
    window.raise_panel("tensor")
    for look in LOOKS:
        put_on(look, languages, qapp)
        qtbot.waitUntil(window.is_idle, timeout=30_000)
        for view in list(window.views):
            _raised(window, view, qtbot.waitUntil)
            assert clipped(window) == [], view
        _raised(window, "tensor", qtbot.waitUntil)
        keep(window, "window", look)


def _raised(window: MainWindow, panel: str, wait: Callable[..., None]) -> None:
    window.raise_panel(panel)
    QApplication.processEvents()
    wait(window.is_idle, timeout=30_000)
    for _ in range(3):
        QApplication.processEvents()
