"""Every panel on a CUDA snapshot and on a CPU recording: answers, empty states, moments and tables."""

import csv

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QLabel, QTableView

from tensorscope.models.session_model import SessionModel
from tensorscope.readers.documents import read_document
from tensorscope.readers.frames import frames_of
from tensorscope.views.memory_details.memory_details_view import MemoryDetailsView
from tensorscope.views.memory_details.panel_registry import PANEL_CLASSES, build_panel
from tests.support.random_snapshots import MIB, ToyAllocator
from tests.support.sample_frames import sample_frames
from tests.support.sessions import fed


def snapshot_session():
    toy = ToyAllocator(5, streams=2, pools=2).run(300)
    toy.out_of_memory(1 << 34, device_free=1 << 20)
    frames = list(frames_of(read_document(toy.snapshot()), "a.pickle"))
    return fed(SessionModel("a"), frames)


SESSIONS = {
    "snapshot": snapshot_session,
    "cpu": lambda: fed(SessionModel("b"), sample_frames(leak_bytes=5000)),
    "nothing": SessionModel,
}


def shown(qtbot, panel_id, session):
    view = MemoryDetailsView()
    qtbot.addWidget(view)
    view.resize(900, 700)
    view.show()
    view.set_session(session)
    view.show_panel(panel_id)
    settle(qtbot, view)
    return view


def settle(qtbot, view):
    view.refresh()
    qtbot.waitUntil(view.is_idle, timeout=10_000)
    QApplication.processEvents()


@pytest.mark.parametrize("name", SESSIONS)
@pytest.mark.parametrize("panel_id", PANEL_CLASSES)
def test_that_every_panel_shows_an_answer_or_says_what_is_missing(panel_id, name, qtbot, tmp_path):
    view = shown(qtbot, panel_id, SESSIONS[name]())
    panel = view.panel
    message = panel.findChild(QLabel, f"{panel_id}Message")
    if message is not None and message.isVisible():
        assert len(message.text()) > 40
        assert "could not be worked out" not in message.text()
    view.export(tmp_path / "a.csv", "csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header
    assert all(len(row) == len(header) for row in rows)
    for file_format in ("png", "svg"):
        view.export(tmp_path / f"a.{file_format}", file_format)
        assert (tmp_path / f"a.{file_format}").stat().st_size > 500
    QApplication.sendEvent(view, QEvent(QEvent.Type.LanguageChange))
    QApplication.sendEvent(view, QEvent(QEvent.Type.PaletteChange))
    for size in ((1400, 900), (420, 300)):
        view.resize(*size)
        assert not view.grab().isNull()


@pytest.mark.parametrize("panel_id", PANEL_CLASSES)
def test_that_every_tab_has_a_title(panel_id, qtbot):
    view = shown(qtbot, panel_id, SessionModel())
    assert view._titles()[panel_id]
    assert build_panel(panel_id).panel_id == panel_id


def rows_of(view, name):
    table = view.findChild(QTableView, name)
    model = table.model()
    return [[model.index(r, c).data() for c in range(model.columnCount())] for r in range(model.rowCount())]


def test_that_a_chosen_peak_becomes_the_moment_of_all_views(qtbot):
    view = shown(qtbot, "peaks", SESSIONS["snapshot"]())
    table = view.findChild(QTableView, "peaksTable")
    table.clicked.emit(table.model().index(0, 0))
    assert view.panel.session.moment_ns == view.panel.answer.peaks[0].t_ns
    parts = view.findChild(QTableView, "peakPartsTable")
    parts.clicked.emit(parts.model().index(0, 0))
    assert view.panel.session.selection.storage == view.panel.answer.peaks[0].parts[0].address


def test_that_a_leak_is_named_with_its_rate_and_an_open_program_is_asked(qtbot):
    session = SESSIONS["cpu"]()
    view = shown(qtbot, "leaks", session)
    assert "1 groups leak" in view.findChild(QLabel, "leaksHeading").text()
    assert rows_of(view, "leaksTable")[0][3] == "leaks"
    table = view.findChild(QTableView, "leaksTable")
    table.clicked.emit(table.model().index(0, 0))
    assert session.selection.storage == view.panel.answer.leaks[0].newest[0][0]
    assert not view.findChild(object, "whoHoldsThem").isEnabled()  # a file has nobody to ask
    view.panel._asked_id = 7
    answer = {
        "blocks": [{"address": 1, "holders": [{"kind": "container", "text": "kept: list in train.py"}]}]
    }
    session.reply_received.emit({"id": 7, "ok": True, "error": None, "result": answer})
    assert "kept: list in train.py" in view.findChild(QLabel, "leakHolders").text()


def test_that_the_allocators_state_follows_the_moment(qtbot):
    session = SESSIONS["snapshot"]()
    view = shown(qtbot, "state", session)
    assert "At the end" in view.findChild(QLabel, "allocatorNumbers").text()
    before = view.panel._state.event
    session.go_to_moment(view.panel.answer.history.t_ns[100].item())
    assert view.panel._state.event < before
    assert "At 0." in view.findChild(QLabel, "allocatorNumbers").text()


def test_that_a_click_in_a_segment_selects_the_block(qtbot):
    session = SESSIONS["snapshot"]()
    view = shown(qtbot, "state", session)
    area = view.findChild(object, "segmentMap")
    state, b = view.panel._state, view.panel.answer.history.blocks
    area.block_clicked.emit(int(state.blocks[0]))
    assert session.selection.storage == int(b.address[state.blocks[0]])
    found = {
        area.block_at(area.viewport().rect().topLeft() + offset)
        for offset in _grid(area.viewport().width(), area.viewport().height())
    }
    assert len(found - {-1}) > 0
    assert found <= {-1, *state.blocks.tolist()}


def _grid(width, height):
    from PySide6.QtCore import QPoint

    return [QPoint(x, y) for x in range(0, width, 7) for y in range(0, height, 9)]


def test_that_a_verdict_shows_its_proof_and_moment(qtbot):
    session = SESSIONS["snapshot"]()
    view = shown(qtbot, "verdicts", session)
    assert "Out of memory" in rows_of(view, "verdictsTable")[0][0]
    numbers = dict(rows_of(view, "verdictNumbersTable"))
    assert numbers["Asked for"] == "16.0 GiB"
    view.findChild(object, "showVerdict").click()
    assert session.moment_ns == view.panel.answer[0].t_ns


def test_that_a_whole_snapshot_is_healthy(qtbot):
    toy = ToyAllocator(0)
    toy.allocate(3 * MIB)
    session = fed(SessionModel("a"), list(frames_of(read_document(toy.snapshot()), "a.pickle")))
    view = shown(qtbot, "verdicts", session)
    assert "Nothing found" in view.findChild(QLabel, "verdictsMessage").text()
