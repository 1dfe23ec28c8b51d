"""The window as a person meets it."""

from __future__ import annotations

import gc
import os
import signal
import weakref
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QApplication, QDialog, QLabel

from tensorscope.app.actions import SPECS
from tensorscope.app.application import WindowRequest, make_window
from tensorscope.app.command_palette import CommandPalette, match_score
from tensorscope.app.main_window import MainWindow
from tensorscope.app.notice_bar import NoticeBar
from tensorscope.app.settings import MAX_RECENT, Settings
from tensorscope.app.window_commands import WindowCommands
from tensorscope.launch.target import TargetOptions
from tensorscope.models.selection import Selection
from tests.support.sample_file import sample_session_file

ENDLESS = """
import torch
torch.set_num_threads(1)
net = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
while True:
    optimizer.zero_grad()
    net(torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
"""


def test_that_every_command_has_one_id_one_key_and_a_text(window):
    ids = [spec.action_id for spec in SPECS]
    keys = [spec.shortcut for spec in SPECS if spec.shortcut]
    panel_keys = [f"Ctrl+{number}" for number in range(1, 8)]
    assert len(set(ids)) == len(ids)
    assert len({*keys, *panel_keys}) == len(keys) + len(panel_keys)
    for action in window.actions_by_id:
        assert action.text()
        assert action.statusTip()


def test_that_every_command_of_the_registry_stands_in_a_menu(window):
    menus = [menu for menu in window.menuBar().actions() if menu.menu() is not None]
    shown = {action.objectName() for menu in menus for action in menu.menu().actions()}
    assert {spec.action_id for spec in SPECS} <= shown


def test_that_a_session_shows_all_panels_and_closing_it_the_welcome_page(opened):
    assert not opened.welcome.isVisible()
    assert all(dock.toggleViewAction().isChecked() for dock in opened.docks.values())
    opened.actions_by_id["file.close"].trigger()
    assert opened.controller.session is None
    assert opened.welcome.isVisible()
    assert not any(dock.isVisible() for dock in opened.docks.values())


def test_that_the_layout_is_kept_and_one_of_another_version_is_not(opened, new_window, sample_file, qtbot):
    opened.docks["findings"].close()
    opened.docks["steps"].setFloating(True)
    opened.close()
    again = new_window()
    again.open_path(sample_file)
    qtbot.waitUntil(lambda: again.controller.session is not None, timeout=20_000)
    assert again.docks["findings"].isHidden()
    assert again.docks["steps"].isFloating()
    again.actions_by_id["view.reset_layout"].trigger()
    assert not again.docks["findings"].isHidden()
    assert not again.docks["steps"].isFloating()
    old = again.saveState(999)
    again.settings.save_layout(again.saveGeometry(), old)
    assert not again.dock_layout.restore(again.settings)


def visible_texts(window: MainWindow) -> list[str]:
    texts = [menu.text() for menu in window.menuBar().actions()]
    texts += [action.text() for action in window.actions_by_id]
    texts += [dock.windowTitle() for dock in window.docks.values()]
    return texts + [label.text() for label in window.status.findChildren(QLabel)]


def test_that_the_language_changes_at_once_everywhere_and_back(opened, qtbot):
    before = visible_texts(opened)
    opened.actions_by_id["view.chinese"].trigger()
    qtbot.wait(1)  # Qt posts the change to each widget
    titles = [opened.docks[name].windowTitle() for name in ("steps", "memory", "graph", "tensor", "lab")]
    assert titles == ["步", "内存", "计算图", "张量", "实验室"]
    assert opened.view("memory").title() == "内存"
    same = {a for a, b in zip(before, visible_texts(opened), strict=True) if a == b}
    assert {text for text in same if text} <= {"English", "简体中文"}
    assert Settings().language == "zh_CN"
    opened.actions_by_id["view.english"].trigger()
    qtbot.wait(1)
    assert visible_texts(opened) == before


def test_that_the_colours_change_at_once_and_are_kept(opened, qapp, qtbot):
    opened.actions_by_id["view.dark"].trigger()
    qtbot.wait(1)
    assert qapp.palette().window().color().lightness() < 60
    assert opened.view("memory").palette().window().color().lightness() < 60
    assert Settings().theme == "dark"
    opened.actions_by_id["view.light"].trigger()
    assert qapp.palette().window().color().lightness() > 200


def drop(window: MainWindow, *urls: QUrl) -> None:
    mime = QMimeData()
    mime.setUrls(list(urls))
    event = QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, mime, Qt.MouseButton.LeftButton,
                       Qt.KeyboardModifier.NoModifier)  # fmt: skip
    window.dropEvent(event)


def test_that_a_session_file_can_be_dropped(window, sample_file, qtbot):
    drop(window, QUrl.fromLocalFile(str(sample_file)))
    qtbot.waitUntil(lambda: window.controller.session is not None, timeout=20_000)
    assert window.settings.recent_files == [str(sample_file)]


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"", "is empty"), (b"\x80\x04K\x01.", "not a memory snapshot"), (None, "No such file")],
)
def test_that_what_is_no_session_is_refused_with_the_reason_and_changes_nothing(
    opened, tmp_path, qtbot, content, why
):
    session, path = opened.controller.session, tmp_path / "x.tscope"
    if content is not None:
        path.write_bytes(content)
    drop(opened, QUrl.fromLocalFile(str(path)))
    qtbot.waitUntil(lambda: bool(opened.notices.notices), timeout=20_000)
    assert why in opened.notices.notices[-1].text
    assert str(path) in opened.notices.notices[-1].text
    assert opened.controller.session is session


def test_that_something_from_elsewhere_cannot_be_dropped(window):
    drop(window, QUrl("https://example.org/a.tscope"))
    assert "on this machine" in window.notices.notices[-1].text


def test_that_a_damaged_file_opens_up_to_the_damage_and_says_so(window, tmp_path, qtbot):
    import sqlite3

    path = sample_session_file(tmp_path, steps=6)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE chunks SET header = x'00' WHERE id = 20")
    database.close()
    window.open_path(path)
    qtbot.waitUntil(lambda: bool(window.notices.notices), timeout=20_000)
    assert "Opened the first 19" in window.notices.notices[-1].text
    assert window.controller.session.recorded_steps > 0


def test_that_recent_files_are_few_unique_and_grey_when_gone(window, tmp_path):
    paths = [tmp_path / f"{number}.tscope" for number in range(MAX_RECENT + 3)]
    for path in [*paths, paths[5]]:
        path.touch()
        window.settings.add_recent_file(path)
    recent = window.settings.recent_files
    assert len(recent) == MAX_RECENT
    assert recent[0] == str(paths[5])
    assert len(set(recent)) == MAX_RECENT
    paths[5].unlink()
    window._fill_recent()
    enabled = {action.text(): action.isEnabled() for action in window.recent_menu.actions()}
    assert not enabled[str(paths[5])]
    assert all(enabled[path] for path in recent[1:])


def test_that_the_step_bar_moves_every_view(opened):
    session = opened.controller.session
    assert session.current_step == 39
    opened.step_bar._slider.setValue(7)
    assert (session.current_step, session.follow) == (7, False)
    assert opened.step_bar._spin.value() == 7
    opened.actions_by_id["session.next_step"].trigger()
    assert session.current_step == 8
    opened.actions_by_id["session.follow"].trigger()
    assert (session.current_step, session.follow) == (39, True)


@pytest.mark.qt_no_exception_capture
def test_that_a_view_that_fails_is_named_once_and_the_others_go_on(opened, qtbot, monkeypatch):
    calls = []

    def broken() -> None:
        calls.append(1)
        raise ZeroDivisionError("no pixel")

    monkeypatch.setattr(opened.view("steps"), "refresh", broken)
    opened.raise_panel("steps")
    for _ in range(5):
        opened.controller.session.store.version += 1
        qtbot.wait(120)
    assert len(calls) > 1
    told = [notice for notice in opened.notices.notices if "no pixel" in notice.text]
    assert [notice.count for notice in told] == [1]
    assert "Steps" in told[0].text
    assert "ZeroDivisionError" in opened.log.text()


def test_that_the_same_notice_is_counted_and_dismissed_as_one(qtbot):
    bar = NoticeBar()
    qtbot.addWidget(bar)
    for text in ("a", "b", "a", "a"):
        bar.show_notice("warning", text)
    assert [(notice.text, notice.count) for notice in bar.notices] == [("b", 1), ("a", 3)]
    bar.dismiss()
    assert [notice.text for notice in bar.notices] == ["b"]


def test_that_a_notice_shows_its_text_and_never_its_markup(qtbot):
    bar = NoticeBar()
    qtbot.addWidget(bar)
    bar.show_notice("error", "<b>bold</b> & more")
    assert "&lt;b&gt;bold" in bar._label.text()


def test_that_the_status_bar_says_what_is_so(opened):
    assert opened.status.text("state") == "File"
    assert opened.status.text("target") == "train.py (pid 4242, torch 2.13.0)"
    assert opened.status.text("step") == "step 39"
    assert opened.status.text("level") == "level scope"
    assert opened.status.text("overhead") == "overhead 1.00 %"
    assert opened.status.text("dropped") == "dropped 0"
    assert opened.status.text("recorder") == "memory: native"


def test_that_commands_that_need_a_live_program_are_off_for_a_file(opened):
    for name in ("session.pause", "session.deep", "session.detach", "session.scope"):
        assert not opened.actions_by_id[name].isEnabled()
    assert opened.actions_by_id["file.export"].isEnabled()


def test_that_a_selection_reaches_every_view(opened, qtbot):
    for name in ("graph", "tensor"):
        opened.raise_panel(name)
        qtbot.waitUntil(opened.is_idle, timeout=20_000)
    opened.controller.session.select(Selection(tensor="blocks.0.attn.qkv.weight"))
    row = opened.view("tensor").selected_row()
    assert row is not None


@pytest.mark.parametrize("file_format", ["png", "svg", "csv"])
def test_that_a_view_is_written_from_the_menu_s_code(opened, tmp_path, file_format):
    path = tmp_path / f"a.{file_format}"
    commands = opened.findChild(WindowCommands)
    assert commands.write_view("steps", path)
    start = path.read_bytes()[:200]
    assert {"png": b"\x89PNG", "svg": b"<svg", "csv": b"step"}[file_format] in start
    assert not commands.write_view("steps", tmp_path / "missing" / "a.png")
    assert "missing" in opened.notices.notices[-1].text


def test_that_the_palette_finds_a_command_by_a_few_letters_and_runs_it(opened, qtbot):
    assert match_score("rl", "Reset layout") > match_score("rl", "Attribute list")
    assert match_score("xyz", "Reset layout") == 0
    palette = CommandPalette(list(opened.actions_by_id), opened)
    qtbot.addWidget(palette)
    palette.line.setText("reset lay")
    assert palette.list.item(0).text().startswith("Reset layout")
    opened.docks["lab"].close()
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)
    assert palette.result() == QDialog.DialogCode.Accepted
    assert not opened.docks["lab"].isHidden()


def wait_until_shown(window: MainWindow, qtbot) -> None:
    qtbot.waitUntil(lambda: window.controller.session is not None and window.is_idle(), timeout=20_000)


def test_that_a_closed_window_is_freed_with_its_views_and_its_session(qapp, sample_file, qtbot):
    window = make_window(qapp, WindowRequest())
    window.show()
    window.build_views()
    window.open_path(sample_file)
    wait_until_shown(window, qtbot)
    things = [window, window.controller.session, *window.views.values()]
    left = [weakref.ref(thing) for thing in things]
    window.close()
    window.deleteLater()
    del window, things
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    gc.collect()
    assert [ref() for ref in left if ref() is not None] == []


@pytest.fixture
def live(window, tmp_path: Path, qtbot) -> MainWindow:
    """The window on a program that runs."""
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS)
    window.controller.run_script(TargetOptions([str(script)], quiet=True))
    qtbot.waitUntil(
        lambda: window.controller.session is not None and window.controller.session.recorded_steps > 5,
        timeout=60_000,
    )
    return window


def test_that_a_live_session_pauses_resumes_and_detaches(live, qtbot):
    session, actions = live.controller.session, live.actions_by_id
    actions["session.pause"].trigger()
    known = session.recorded_steps
    qtbot.wait(300)
    assert (session.state, session.recorded_steps) == ("paused", known)
    actions["session.pause"].trigger()
    qtbot.waitUntil(lambda: session.recorded_steps > known, timeout=20_000)
    actions["session.deep"].trigger()
    qtbot.waitUntil(lambda: len(session.store.records("graph")) >= 2, timeout=30_000)
    actions["session.detach"].trigger()
    qtbot.waitUntil(lambda: session.state == "closed", timeout=20_000)
    assert live.controller.target.process.poll() is None, "the program goes on"
    qtbot.waitUntil(lambda: not actions["session.pause"].isEnabled(), timeout=20_000)


def test_that_a_killed_program_leaves_all_it_had_sent_and_is_named(live, qtbot):
    session = live.controller.session
    os.kill(live.controller.target.process.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: session.state == "lost" and bool(live.notices.notices), timeout=20_000)
    text = live.notices.notices[-1].text
    assert "killed or crashed" in text
    assert "is kept" in text
    assert session.recorded_steps > 5
    assert live.controller.session is session
    assert live.status.text("state") == "Lost"


def test_that_a_live_session_recorded_from_the_window_is_complete(live, qtbot, tmp_path):
    from tensorscope.models.session_loading import load_session

    session = live.controller.session
    live.controller.start_recording(tmp_path / "a.tscope")
    known = session.recorded_steps
    qtbot.waitUntil(lambda: session.recorded_steps > known + 5, timeout=20_000)
    live.controller.stop_recording()
    again = load_session(tmp_path / "a.tscope")
    assert again.problems == []
    assert again.store.tables["step"]["step"][0] == session.store.tables["step"]["step"][0]
    assert again.recorded_steps > known
    for name in ("total_bytes", "address"):
        count = len(again.store.tables["alloc"])
        assert (again.store.tables["alloc"][name] == session.store.tables["alloc"][name][:count]).all()


def test_that_closing_the_window_ends_the_program_it_started(live, qtbot):
    process = live.controller.target.process
    live.close()
    qtbot.waitUntil(lambda: process.poll() is not None, timeout=20_000)


def test_that_closing_the_window_leaves_a_program_alone_that_was_to_be_run(window, tmp_path, qtbot):
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS)
    window.controller.run_script(TargetOptions([str(script)], quiet=True, outlives_window=True))
    qtbot.waitUntil(lambda: window.controller.session is not None, timeout=60_000)
    qtbot.waitUntil(lambda: window.controller.session.recorded_steps > 2, timeout=60_000)
    window.close()
    (target,) = window.controller.left_running
    qtbot.wait(500)
    assert target.exit_code is None
    target.stop()


def test_that_a_script_that_fails_says_why_in_the_window(window, tmp_path, qtbot):
    script = tmp_path / "broken.py"
    script.write_text("import torch\nraise ValueError('no data')\n")
    window.controller.run_script(TargetOptions([str(script)], quiet=True))
    qtbot.waitUntil(lambda: bool(window.notices.notices), timeout=60_000)
    assert window.notices.notices[-1].severity in ("error", "info")


def test_that_an_address_nobody_listens_at_is_said(window, qtbot):
    window.controller.attach("unix:/tmp/nobody-here.sock")
    qtbot.waitUntil(lambda: bool(window.notices.notices), timeout=20_000)
    assert "Nobody listens" in window.notices.notices[-1].text
    window.controller.attach("nonsense")
    assert "is no address" in window.notices.notices[-1].text
