"""Colours and languages change while the window is open, all of it."""

from __future__ import annotations

from collections import Counter

import pytest
from PySide6.QtCore import QEvent, QLocale, Qt
from PySide6.QtGui import QAction, QColor, QPalette
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDialogButtonBox,
    QDockWidget,
    QLabel,
    QLineEdit,
    QTableView,
    QWidget,
)

from tensorscope.app.main_window import MainWindow
from tensorscope.app.theme import make_palette


def texts(window: MainWindow) -> dict[str, list[str]]:
    """Return every text that a person can find in the window."""
    found: dict[str, list[str]] = {
        "actions": [a.text() for a in window.findChildren(QAction)],
        "tips": [a.toolTip() + a.statusTip() for a in window.findChildren(QAction)],
        "labels": [w.text() for w in window.findChildren(QLabel)],
        "buttons": [w.text() for w in window.findChildren(QAbstractButton)],
        "titles": [w.windowTitle() for w in window.findChildren(QDockWidget)],
        "hints": [w.placeholderText() for w in window.findChildren(QLineEdit)],
        "choices": [w.itemText(i) for w in window.findChildren(QComboBox) for i in range(w.count())],
        "widget tips": [w.toolTip() for w in window.findChildren(QWidget)],
        "names": [w.accessibleName() for w in window.findChildren(QWidget) if not is_of_qt(w)],
        "columns": [
            str(w.model().headerData(i, Qt.Orientation.Horizontal))
            for w in window.findChildren(QTableView) if w.model() is not None
            for i in range(w.model().columnCount())
        ],
    }  # fmt: skip
    return {kind: sorted(filter(None, values)) for kind, values in found.items()}


def is_of_qt(widget: QWidget) -> bool:
    """Whether Qt made it, inside a dock or a row of tabs, and names it in the language of that moment."""
    return widget.objectName().startswith(("qt_", "Scroll"))


def differing(first: list[str], second: list[str]) -> tuple[list[str], list[str]]:
    """Return what only one of two lists holds, or holds more often."""
    left, right = Counter(first), Counter(second)
    return sorted((left - right).elements()), sorted((right - left).elements())


def settled(window: MainWindow, qtbot) -> MainWindow:
    """Return the window once every panel has been in front and is drawn."""
    for name in window.views:
        window.raise_panel(name)
        qtbot.waitUntil(window.is_idle, timeout=30_000)
    window.welcome.show_recent(window.settings.recent_files)
    qtbot.wait(500)  # lists that follow a chart wait until it rests
    return window


def opened_on(path, window: MainWindow, qtbot) -> MainWindow:
    window.open_path(path)
    qtbot.waitUntil(lambda: window.controller.session is not None, timeout=20_000)
    return settled(window, qtbot)


def test_that_a_language_reaches_every_text_of_an_open_window(new_window, demo_file, qtbot):
    """A window that was switched reads like one that was Chinese from the start, and back again."""
    switched = opened_on(demo_file, new_window(), qtbot)
    english = texts(switched)
    switched.actions_by_id["view.chinese"].trigger()
    settled(switched, qtbot)
    chinese_at_last = texts(switched)
    chinese_at_first = texts(opened_on(demo_file, new_window(), qtbot))
    assert {k: differing(v, chinese_at_first[k]) for k, v in chinese_at_last.items()} == dict.fromkeys(
        english, ([], [])
    )
    assert chinese_at_last["titles"] != english["titles"]
    assert not set(chinese_at_last["columns"]) & set(english["columns"]) - {"grad_fn", "p95 (ms)"}
    switched.actions_by_id["view.english"].trigger()
    assert texts(settled(switched, qtbot)) == english


def test_that_buttons_of_qt_speak_the_language_too(window):
    window.actions_by_id["view.chinese"].trigger()
    box = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
    assert box.button(QDialogButtonBox.StandardButton.Cancel).text().startswith("取消")
    assert QLocale().language() == QLocale.Language.Chinese
    assert window.actions_by_id["view.chinese"].isChecked()
    assert not window.actions_by_id["view.english"].isChecked()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_that_colours_are_kept_and_reach_the_charts(opened, theme, qapp, qtbot):
    opened.actions_by_id[f"view.{theme}"].trigger()
    qtbot.wait(1)  # Qt posts the new palette to each widget
    assert opened.settings.theme == theme
    assert qapp.palette().color(QPalette.ColorRole.Base) == make_palette(theme).color(QPalette.ColorRole.Base)
    dark = theme == "dark"
    for name in ("steps", "memory", "graph", "tensor", "lab"):
        opened.raise_panel(name)
        qtbot.waitUntil(opened.is_idle, timeout=20_000)
        picture = opened.view(name).grab().toImage()
        values = [
            QColor(picture.pixel(x, y)).value()
            for x in range(0, picture.width(), 9)
            for y in range(0, picture.height(), 9)
        ]
        share = sum(value < 100 for value in values) / len(values)
        assert (share > 0.5) == dark, f"{name}: {share:.2f} of it is dark"


def test_that_auto_follows_the_desktop_and_a_choice_does_not(window, qapp, monkeypatch):
    monkeypatch.setattr("tensorscope.app.theme.system_is_dark", lambda: True)
    base = QPalette.ColorRole.Base
    window.actions_by_id["view.auto"].trigger()
    assert qapp.palette().color(base) == make_palette("dark").color(base)
    window.actions_by_id["view.light"].trigger()
    window.follow_system_colours()
    assert qapp.palette().color(base) == make_palette("light").color(base)


def test_that_text_can_be_read_on_what_is_behind_it():
    """WCAG 2 asks for a contrast of 4.5 for text and 3 for what is only there when it can be used."""
    for theme in ("light", "dark"):
        palette = make_palette(theme)
        pairs = {
            (QPalette.ColorRole.WindowText, QPalette.ColorRole.Window): 4.5,
            (QPalette.ColorRole.Text, QPalette.ColorRole.Base): 4.5,
            (QPalette.ColorRole.ButtonText, QPalette.ColorRole.Button): 4.5,
            (QPalette.ColorRole.ToolTipText, QPalette.ColorRole.ToolTipBase): 4.5,
            (QPalette.ColorRole.HighlightedText, QPalette.ColorRole.Highlight): 3.0,
            (QPalette.ColorRole.PlaceholderText, QPalette.ColorRole.Base): 4.5,
            (QPalette.ColorRole.Link, QPalette.ColorRole.Window): 4.5,
        }
        for (front, back), least in pairs.items():
            ratio = contrast(palette.color(front), palette.color(back))
            assert ratio >= least, f"{theme}: {front.name} on {back.name}: {ratio:.2f}"


def contrast(first: QColor, second: QColor) -> float:
    lights = sorted((luminance(first), luminance(second)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def luminance(colour: QColor) -> float:
    parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour.getRgbF()[:3]]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def test_that_a_change_of_language_is_sent_once(window, qapp):
    """Two translators must not make every view translate itself four times."""
    seen = []

    class Watcher(QWidget):
        def changeEvent(self, event: QEvent) -> None:
            if event.type() == QEvent.Type.LanguageChange:
                seen.append(1)

    watcher = Watcher(window)
    window.actions_by_id["view.chinese"].trigger()
    QApplication.processEvents()
    assert 1 <= len(seen) <= 2
    watcher.deleteLater()
