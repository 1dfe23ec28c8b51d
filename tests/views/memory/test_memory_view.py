import csv

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtWidgets import QApplication

from tensorscope.core.schema import CATEGORIES
from tensorscope.models.selection import Selection
from tensorscope.models.session_model import SessionModel
from tensorscope.views.memory.memory_csv import csv_header, csv_rows
from tensorscope.views.memory.memory_view import MemoryView
from tests.support.alloc_stream import alloc_frame
from tests.support.sample_frames import sample_frames
from tests.support.sessions import fed, sample_session


@pytest.fixture
def view(qtbot):
    view = MemoryView()
    qtbot.addWidget(view)
    view.resize(1000, 600)
    view.show()
    view.set_session(sample_session())
    qtbot.waitUntil(view.is_idle)
    view.refresh()
    return view


def chart_of(view):
    return view.findChild(object, "memoryChart")


def test_that_the_last_steps_are_shown_and_the_window_can_be_all(view, qtbot):
    first, last = view.snapshot().window
    assert last - first == 5 * 100_000_000
    box = view.findChild(object, "memoryWindow")
    box.setCurrentIndex(box.count() - 1)
    box.activated.emit(box.count() - 1)
    first, last = view.snapshot().window
    assert last - first > 3_900_000_000


def test_that_hovering_names_time_step_phase_total_and_every_category(view):
    chart = chart_of(view)
    chart.hovered.emit(3.97, 0.0)
    text = view.findChild(object, "memoryReadout").text()
    for part in ("3.970000 s", "step 39", "backward", "total"):
        assert part in text
    moment = view._model.moment(3_970_000_000)
    assert sum(moment.series_bytes) == moment.total_bytes
    chart.hover_left.emit()
    assert "events in view" in view.findChild(object, "memoryReadout").text()


def test_that_a_click_selects_the_block_in_every_view(view):
    chart = chart_of(view)
    activation = 5
    rects = chart.stack
    at = np.flatnonzero(rects._class_ids == activation)[3]
    chart.clicked.emit((rects._x0[at] + rects._x1[at]) / 2, (rects._y0[at] + rects._y1[at]) / 2)
    selection = view._session.selection
    table = view._session.store.tables["alloc"]
    assert table["category"][selection.alloc_row] == activation
    assert table["address"][selection.alloc_row] == selection.storage
    text = view.findChild(object, "memorySelected").text()
    for part in ("KiB", "Activations", f"0x{selection.storage:x}", "forward", "→"):
        assert part in text
    assert len(chart.lifetime._x0) == 1


def test_that_a_storage_selected_elsewhere_marks_its_lifetime(view):
    baseline = view._session.store.records("baseline")[0]
    address = int(baseline.columns["address"][0])
    view._session.select(Selection(storage=address))
    text = view.findChild(object, "memorySelected").text()
    assert "embed.weight" in text
    assert "still alive" in text


def test_that_hidden_categories_leave_the_stack_and_not_the_total(view):
    view.findChild(object, "memorySeries_parameter").setChecked(False)
    snapshot = view.snapshot()
    assert not snapshot.series_bytes[:, 0].any()
    assert (snapshot.high_bytes > snapshot.series_bytes.sum(axis=1)).all()


def test_that_the_keys_of_timelines_move_the_window(view, qtbot):
    chart = chart_of(view)

    def after(key):
        qtbot.keyClick(chart, key)
        QApplication.processEvents()
        view.refresh()
        return view.snapshot().window

    first, last = view.snapshot().window
    zoomed = after(Qt.Key.Key_W)
    assert zoomed[1] - zoomed[0] < last - first
    panned = after(Qt.Key.Key_A)
    assert panned[0] < zoomed[0]
    assert abs((panned[1] - panned[0]) - (zoomed[1] - zoomed[0])) <= 2
    home = after(Qt.Key.Key_Home)
    assert home[0] == 0
    peak = after(Qt.Key.Key_BracketRight)
    assert peak[0] > home[0]
    assert after(Qt.Key.Key_F) == (first, last)


def test_that_the_csv_is_what_is_on_the_screen(view, tmp_path):
    path = tmp_path / "memory.csv"
    view.export(path, "csv")
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == csv_header("time", list(CATEGORIES))
    assert [[float(x) for x in row] for row in rows] == csv_rows(view.snapshot())
    assert sum(float(x) for x in rows[0][4:]) == float(rows[0][2])


def test_that_an_empty_session_says_what_to_do(qtbot):
    view = MemoryView()
    qtbot.addWidget(view)
    view.resize(400, 300)
    view.show()
    assert "Attach" in view.findChild(object, "memoryMessage").text()
    assert view.is_idle()


def test_that_texts_are_set_again_when_the_language_changes(view):
    readout = view.findChild(object, "memorySelected")
    readout.setText("")
    QApplication.sendEvent(view, QEvent(QEvent.Type.LanguageChange))
    assert readout.text()


def test_that_it_paints_without_an_error_at_any_size(view):
    for width, height in ((1400, 900), (700, 420), (120, 60)):
        view.resize(width, height)
        assert not view.grab().isNull()


def test_that_hover_reaches_the_chart_through_the_mouse(view, qtbot):
    chart = chart_of(view)
    centre = chart.box.sceneBoundingRect().center()
    chart.scene().sigMouseMoved.emit(QPointF(centre))
    assert "step" in view.findChild(object, "memoryReadout").text()


def test_that_the_largest_blocks_at_the_peak_are_listed_and_can_be_selected(view):
    table = view.findChild(object, "memoryBlocks")
    model = table.model()
    snapshot = view.snapshot()
    blocks, count = view._model.largest_blocks(snapshot.peak_t_ns)
    assert sum(block.size_bytes for block in blocks) == snapshot.peak_bytes.sum()
    assert model.rowCount() == count
    assert f"{count} blocks alive at the peak" in view.findChild(object, "memoryBlocksHeading").text()
    assert {"embed.weight", "blocks.1.attn"} <= {model.index(row, 1).data() for row in range(count)}
    table.clicked.emit(model.index(0, 0))
    assert view._session.selection.storage == blocks[0].address
    assert f"0x{blocks[0].address:x}" in view.findChild(object, "memorySelected").text()


def test_that_a_click_pins_the_list_to_its_moment(view, qtbot):
    chart_of(view).clicked.emit(3.905, 0.0)
    heading = view.findChild(object, "memoryBlocksHeading")
    qtbot.waitUntil(lambda: "3.905 s" in heading.text())
    assert heading.text().startswith("15 blocks")  # the parameters alone


def test_that_a_selected_block_is_followed_until_it_is_freed(qtbot):
    frames = sample_frames()
    cut = next(i for i, f in enumerate(frames) if f.kind == "alloc" and f.step == 20)
    session = fed(SessionModel("x"), frames[:cut])
    view = MemoryView()
    qtbot.addWidget(view)
    view.show()
    view.set_session(session)
    table = session.store.tables["alloc"]
    permanent = int(session.store.records("baseline")[0].columns["address"][0])
    session.select(Selection(storage=permanent))
    assert "still alive" in view.findChild(object, "memorySelected").text()
    row = len(table) - 1
    free = alloc_frame([(2_000_500_000, permanent, -24576, 0, 20, 2, 0)], step=20)
    session.ingest(free)
    session.after_ingest()
    view.refresh()
    assert "→ step 20 backward" in view.findChild(object, "memorySelected").text()
    assert row < view._selected.block.end.row
