import csv

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication

from tensorscope.views.steps.steps_view import CSV_HEADER, StepsView
from tests.support.sessions import sample_session


@pytest.fixture
def view(qtbot):
    view = StepsView()
    qtbot.addWidget(view)
    view.resize(1000, 600)
    view.show()
    view.set_session(sample_session())
    qtbot.waitUntil(view.is_idle)
    return view


def text_of(view, name):
    return view.findChild(object, name).text()


def test_that_every_step_is_a_bar_whose_phases_add_up_to_its_time(view):
    snapshot = view.snapshot()
    assert snapshot.count == len(snapshot.bar_rows) == 40
    assert snapshot.phase_ms.sum(axis=1).tolist() == [100.0] * 40
    assert snapshot.phase_ms[0].tolist() == [10.0, 30.0, 50.0, 10.0]


def test_that_hovering_reads_the_step_under_the_mouse(view):
    view.findChild(object, "stepsLoss").hovered.emit(12.3, 0.0)
    text = text_of(view, "stepsDetails")
    for part in ("Step 12", "forward 30.0 ms", "backward 50.0 ms", "loss", "peak", "agent 1.00 ms", "Plain"):
        assert part in text
    view.findChild(object, "stepsLoss").hover_left.emit()
    assert "Step 39" in text_of(view, "stepsDetails")
    assert "autocast-bf16" in text_of(view, "stepsDetails")


def test_that_a_click_goes_to_the_step_in_every_view(view):
    view.findChild(object, "stepsTime").clicked.emit(7.2, 50.0)
    assert view._session.current_step == 7
    assert not view._session.follow


def test_that_the_median_and_the_agents_share_are_stated(view):
    text = text_of(view, "stepsSummary")
    for part in ("40 steps", "median 100 ms", "p95 100 ms", "agent 1.0 %"):
        assert part in text


def test_that_the_variants_are_named_over_their_steps(view):
    spans = [(span.first, span.last, span.variant) for span in view.snapshot().spans]
    assert spans == [(0, 19, ""), (20, 39, "autocast-bf16")]
    view.grab()
    assert view.findChild(object, "stepsTime").labels.drawn == 2


def test_that_the_axes_move_together_and_fit_again(view, qtbot):
    time = view.findChild(object, "stepsTime")
    qtbot.keyClick(time, Qt.Key.Key_W)
    QApplication.processEvents()
    view.refresh()
    assert view.snapshot().last - view.snapshot().first < 40
    for name in ("stepsLoss", "stepsPeak"):
        assert view.findChild(object, name).x_range() == time.x_range()
    qtbot.keyClick(time, Qt.Key.Key_F)
    assert (view.snapshot().first, view.snapshot().last) == (-0.5, 39.5)


def test_that_brackets_go_from_step_to_step(view, qtbot):
    time = view.findChild(object, "stepsTime")
    view._session.go_to_step(10)
    qtbot.keyClick(time, Qt.Key.Key_BracketLeft)
    assert view._session.current_step == 9
    qtbot.keyClick(time, Qt.Key.Key_BracketRight)
    assert view._session.current_step == 10


def test_that_the_csv_is_what_is_on_the_screen(view, tmp_path):
    path = tmp_path / "steps.csv"
    view.export(path, "csv")
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == CSV_HEADER
    assert [int(row[0]) for row in rows] == list(range(40))
    at = header.index("total_ms")
    assert [[float(x) for x in row[at + 1 : at + 5]] for row in rows] == view.snapshot().phase_ms.tolist()


def test_that_an_empty_session_says_what_to_do(qtbot):
    view = StepsView()
    qtbot.addWidget(view)
    assert "Attach" in text_of(view, "stepsMessage")


def test_that_texts_are_set_again_when_the_language_changes(view):
    legend = view.findChild(object, "stepsLegend")
    legend.setText("")
    QApplication.sendEvent(view, QEvent(QEvent.Type.LanguageChange))
    assert "Backward" in legend.text()


def test_that_it_paints_at_any_size(view):
    for width, height in ((1400, 900), (700, 420), (150, 90)):
        view.resize(width, height)
        assert not view.grab().isNull()
