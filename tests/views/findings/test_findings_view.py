"""Findings: listed with their proof, silent with the reason."""

from __future__ import annotations

import csv
import json

import pytest
from PySide6.QtWidgets import QLabel, QPushButton, QTableWidget

from tensorscope.models.session_model import SessionModel
from tensorscope.views.findings import findings_view
from tensorscope.views.findings.findings_view import FindingsView
from tests.support.sample_frames import sample_frames


def session_of(steps: int, leak_bytes: int = 0) -> SessionModel:
    session = SessionModel("sample")
    for frame in sample_frames(steps, leak_bytes):
        session.ingest(frame)
    session.after_ingest()
    return session


@pytest.fixture
def view(qtbot, monkeypatch) -> FindingsView:
    monkeypatch.setattr(findings_view, "PAUSE_SECONDS", 0.05)
    found = FindingsView()
    qtbot.addWidget(found)
    found.resize(900, 600)
    found.show()
    return found


def shown(view: FindingsView, session: SessionModel, qtbot) -> None:
    view.set_session(session)
    qtbot.waitUntil(view.is_idle, timeout=20_000)


def test_that_a_leak_is_listed_with_the_numbers_that_prove_it(view, qtbot):
    shown(view, session_of(30, leak_bytes=5 << 10), qtbot)
    rows = view.findChild(QTableWidget, "findingsList")
    assert rows.rowCount() == 1
    assert "5.00 KiB allocated in each of steps 3 to 27" in rows.item(0, 1).text()
    evidence = view.findChild(QTableWidget, "findingEvidence")
    proof = {evidence.item(row, 0).text(): evidence.item(row, 1).text() for row in range(evidence.rowCount())}
    assert proof["Growth per step"] == "5.00 KiB"
    assert proof["Blocks still alive"] == "25"
    assert proof["Unknown"] == "125 KiB"


def test_that_show_me_goes_to_the_step_and_asks_for_the_view(view, qtbot):
    session = session_of(30, leak_bytes=5 << 10)
    shown(view, session, qtbot)
    with qtbot.waitSignal(view.open_requested) as asked:
        view.findChild(QPushButton, "showFinding").click()
    assert asked.args == ["memory"]
    assert session.current_step == 27


@pytest.mark.parametrize(
    ("session", "words"),
    [
        (SessionModel(), "No session is open"),
        (session_of(5), "need 13 steps"),
        (session_of(30), "Looked for graphs"),
    ],
)
def test_that_silence_says_why(view, qtbot, session, words):
    shown(view, session, qtbot)
    assert words in view.findChild(QLabel, "findingsMessage").text()


def test_that_findings_of_a_session_that_was_replaced_never_appear(view, qtbot):
    view.set_session(session_of(30, leak_bytes=5 << 10))
    view.set_session(session_of(30))
    qtbot.waitUntil(view.is_idle, timeout=20_000)
    qtbot.wait(200)
    assert view.findChild(QTableWidget, "findingsList").rowCount() == 0


def test_that_a_growing_session_is_looked_at_again(view, qtbot):
    session = SessionModel("sample")
    frames = sample_frames(30, 5 << 10)
    for frame in frames[: len(frames) // 4]:
        session.ingest(frame)
    shown(view, session, qtbot)
    assert view.findChild(QTableWidget, "findingsList").rowCount() == 0
    for frame in frames[len(frames) // 4 :]:
        session.ingest(frame)
    view.refresh()
    qtbot.waitUntil(lambda: view.findChild(QTableWidget, "findingsList").rowCount() == 1, timeout=20_000)


def test_that_the_table_holds_what_is_shown(view, qtbot, tmp_path):
    shown(view, session_of(30, leak_bytes=5 << 10), qtbot)
    view.export(tmp_path / "a.csv", "csv")
    header, row = list(csv.reader((tmp_path / "a.csv").read_text().splitlines()))
    found = dict(zip(header, row, strict=True))
    assert found["code"] == "live-bytes-grow"
    assert json.loads(found["evidence_json"])["bytes_per_step"] == 5 << 10
