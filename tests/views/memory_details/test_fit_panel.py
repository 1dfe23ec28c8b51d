"""The panel that compares allocator settings: what it shows, is asked and says."""

import csv

import pytest
from PySide6.QtWidgets import QApplication

from tensorscope.compute.allocator_settings import AllocatorSettings
from tensorscope.models.session_model import SessionModel
from tensorscope.models.what_if import what_if_table
from tensorscope.readers.documents import read_document
from tensorscope.readers.frames import frames_of
from tensorscope.views.memory_details import fit_panel
from tensorscope.views.memory_details.memory_details_view import MemoryDetailsView
from tests.support.model_snapshot import MIB, ModelProgram
from tests.support.sessions import FakeSource, fed, sample_session


def snapshot_session(limit_bytes=None):
    document = ModelProgram(2, AllocatorSettings(), limit_bytes).run(400).snapshot()
    return fed(SessionModel(), list(frames_of(read_document(document), "a.pickle")))


@pytest.fixture
def view(qtbot):
    view = MemoryDetailsView()
    qtbot.addWidget(view)
    view.resize(1000, 700)
    view.show()
    view.show_panel("fit")
    return view


def answered(view, qtbot, session):
    view.set_session(session)
    qtbot.waitUntil(view.is_idle)
    QApplication.processEvents()
    return view.panel


def text_of(panel, name):
    return panel.findChild(object, name).text()


def test_that_every_setting_is_listed_with_its_numbers_and_the_model_is_judged(view, qtbot):
    session = snapshot_session()
    panel = answered(view, qtbot, session)
    found = what_if_table(session.store)
    _, rows = panel.csv_table()
    assert [row[3] for row in rows] == [row.replay.peak_reserved_bytes for row in found.rows]
    assert text_of(panel, "fitHonesty").startswith("Exact:")
    same = f"{found.exactness.same_addresses:,}"
    assert f"{same} of {same} blocks" in text_of(panel, "fitHonesty")


def test_that_a_cpu_session_is_said_to_be_simulated(view, qtbot):
    panel = answered(view, qtbot, sample_session(8))
    assert text_of(panel, "fitHonesty").startswith("Simulated:")
    assert "Simulated from CPU requests" in text_of(panel, "fitHonesty")
    assert not panel.findChild(object, "fitStart").isVisible()
    assert "PyTorch's defaults" in text_of(panel, "fitLegend")


def test_that_a_limit_says_what_fits_and_explains_what_does_not(view, qtbot):
    panel = answered(view, qtbot, snapshot_session())
    rows = panel.findChild(object, "fitTable").model()
    panel.findChild(object, "fitLimit").setValue(0.05)
    qtbot.waitUntil(view.is_idle)
    QApplication.processEvents()
    fits = {rows.index(row, 4).data() for row in range(rows.rowCount())}
    assert fits == {"no"}
    assert "Does not fit: request" in text_of(panel, "fitOutcome")
    panel._table.chosen.emit(1)
    assert view._session.moment_ns == panel._found.rows[1].failure.t_ns
    panel.findChild(object, "fitLimit").setValue(64.0)
    qtbot.waitUntil(view.is_idle)
    QApplication.processEvents()
    assert {rows.index(row, 4).data() for row in range(rows.rowCount())} == {"yes"}


def test_that_a_device_that_ran_out_of_memory_gives_the_limit(view, qtbot):
    panel = answered(view, qtbot, snapshot_session(limit_bytes=160 * MIB))
    qtbot.waitUntil(view.is_idle)
    QApplication.processEvents()
    assert 0 < panel.findChild(object, "fitLimit").value() <= 0.157
    assert not panel.findChild(object, "fitTable").isColumnHidden(4)
    panel.findChild(object, "fitLimit").setValue(0.0)
    qtbot.waitUntil(view.is_idle)
    QApplication.processEvents()
    assert panel.findChild(object, "fitLimit").value() == 0  # the person wants none
    panel.findChild(object, "fitLimit").setValue(1.0)
    answered(view, qtbot, snapshot_session())
    assert panel.findChild(object, "fitLimit").value() == 0  # of another session


def test_that_the_setting_can_be_copied_as_it_has_to_be_set(view, qtbot):
    panel = answered(view, qtbot, snapshot_session())
    panel._table.chosen.emit(0)
    panel.findChild(object, "fitCopy").click()
    copied = QApplication.clipboard().text()
    assert copied == text_of(panel, "fitEnvironment")
    assert copied.startswith("PYTORCH_CUDA_ALLOC_CONF=")


def test_that_work_can_be_cancelled_and_asked_for_again(view, qtbot, monkeypatch):
    monkeypatch.setattr(fit_panel, "ASKED_ROWS", 0)
    view.set_session(snapshot_session())
    panel = view.panel
    assert "Press Compare" in text_of(panel, "fitMessage")
    panel.findChild(object, "fitRun").click()
    assert panel.findChild(object, "fitCancel").isVisibleTo(panel)
    panel.findChild(object, "fitCancel").click()
    assert view.is_idle()
    assert panel._found is None
    panel.findChild(object, "fitRun").click()
    qtbot.waitUntil(view.is_idle)
    assert panel._found.rows


def test_that_progress_of_given_up_work_is_not_shown(view, qtbot):
    panel = answered(view, qtbot, snapshot_session())
    bar = panel.findChild(object, "fitProgress")
    bar.setValue(0)
    panel.progressed.emit(panel._job.generation - 1, 0.5)
    assert bar.value() == 0
    panel.progressed.emit(panel._job.generation, 0.5)
    assert bar.value() == 500


def test_that_a_live_session_is_compared_only_when_asked(view):
    session = sample_session(6, FakeSource())
    view.set_session(session)
    assert view.is_idle()
    assert "Press Compare" in text_of(view.panel, "fitMessage")


def test_that_nothing_recorded_says_what_to_do(view):
    view.set_session(SessionModel())
    assert "no history of requests" in text_of(view.panel, "fitMessage")


def test_that_the_files_written_are_those_of_the_table(view, qtbot, tmp_path):
    panel = answered(view, qtbot, snapshot_session())
    for name in ("a.csv", "a.png", "a.svg"):
        view.export(tmp_path / name, name[2:])
    written = list(csv.reader((tmp_path / "a.csv").read_text().splitlines()))
    assert len(written) == len(panel.csv_table()[1]) + 1
    assert (tmp_path / "a.png").stat().st_size > 1000
    assert "<svg" in (tmp_path / "a.svg").read_text()


@pytest.mark.parametrize("start", ["empty", "recorded"])
def test_that_the_curves_end_where_the_replay_ended(view, qtbot, start):
    panel = answered(view, qtbot, snapshot_session())
    box = panel.findChild(object, "fitStart")
    box.setCurrentIndex(("empty", "recorded").index(start))
    box.activated.emit(box.currentIndex())
    qtbot.waitUntil(view.is_idle)
    QApplication.processEvents()
    assert panel._found.start == start
    for index, row in enumerate(panel._found.rows):
        panel._table.chosen.emit(index)
        _, values = panel._details.chart.chosen.getData()
        assert values[-1] == row.replay.end_reserved_bytes
    _, recorded = panel._details.chart.reference.getData()
    assert recorded.max() == panel._found.recorded.peak_reserved_bytes
