"""The timeline of a CUDA snapshot: groupings, axes, marks, curves, search and the selected block."""

import csv

import numpy as np
import pytest
from PySide6.QtCore import Qt

from tensorscope.models.memory_marks import ANNOTATION, OOM
from tensorscope.models.selection import Selection
from tensorscope.models.session_model import SessionModel
from tensorscope.readers.documents import read_document
from tensorscope.readers.frames import frames_of
from tensorscope.views.items.mark_item import CROWDED, STRIP
from tensorscope.views.memory.memory_view import MemoryView
from tests.support.random_snapshots import ToyAllocator
from tests.support.sessions import fed


def shown(qtbot, layout="2026-03"):
    toy = ToyAllocator(5, streams=2, pools=2).run(150)
    toy.annotate("START", "forward of batch 7")
    toy.run(200)
    toy.out_of_memory(1 << 34, device_free=1 << 20)
    toy.run(260)
    session = fed(SessionModel("a"), list(frames_of(read_document(toy.snapshot(layout)), "a.pickle")))
    view = MemoryView()
    qtbot.addWidget(view)
    view.resize(1200, 700)
    view.show()
    view.set_session(session)
    settle(qtbot, view)
    return view


def settle(qtbot, view):
    qtbot.waitUntil(view.is_idle, timeout=10_000)
    view.refresh()


@pytest.fixture
def view(qtbot):
    return shown(qtbot)


def choose(qtbot, view, group):
    box = view.findChild(object, "memoryGroup")
    box.setCurrentIndex(box.findData(group))
    box.activated.emit(box.currentIndex())
    settle(qtbot, view)


def test_that_a_file_without_categories_begins_with_lines_of_code(view):
    assert view.findChild(object, "memoryGroup").currentData() == "stack"
    names = [box.toolTip() for box in view._legend._boxes.values()]
    assert any("attention.py:17" in name for name in names)


@pytest.mark.parametrize("group", ["category", "module", "phase", "stack", "stream", "device", "pool"])
def test_that_every_grouping_stacks_up_to_the_total(group, view, qtbot):
    choose(qtbot, view, group)
    snapshot = view.snapshot()
    assert (snapshot.series_bytes.sum(axis=1) == snapshot.high_bytes).all()
    assert len(view._legend._boxes) == snapshot.series_bytes.shape[1]


def test_that_the_event_axis_shows_every_event_once(view, qtbot):
    view._bar._axes["event"].setChecked(True)
    view._on_window(0)
    settle(qtbot, view)
    snapshot = view.snapshot()
    assert snapshot.axis == "event"
    assert snapshot.window == (0, len(view._model.shown) * 1000)
    low, high = view._chart.x_range()
    assert (round(low), round(high)) == (0, len(view._model.shown))


def test_that_a_file_without_times_has_only_the_event_axis(qtbot):
    view = shown(qtbot, "2023-09")
    assert view._bar.axis == "event"
    assert not view._bar._axes["time"].isEnabled()


def test_that_failed_requests_annotations_and_segments_are_marked(view):
    view._on_window(0)
    kinds = set(view._chart.marks._kind.tolist())
    assert kinds == {0, 1, 2, 3} or kinds == {0, 1, 3}
    view._bar._marks["oom"].setChecked(False)
    view.refresh()
    assert OOM not in view._chart.marks._kind.tolist()


def test_that_marks_say_what_they_are(view):
    view._on_window(0)
    marks, chart = view._chart.marks, view._chart
    texts = {}
    for x, kind in zip(marks._x.tolist(), marks._kind.tolist(), strict=True):
        chart.hovered.emit(x, 1.0)
        texts[kind] = view.findChild(object, "memoryReadout").text()
    assert "a request of 16.0 GiB failed" in texts[0]
    assert "reserved (segment_" in texts[1]
    assert "“forward of batch 7” begins" in texts[3]


def test_that_a_crowd_of_marks_becomes_a_strip(view, qtbot):
    item = view._chart.marks
    for count, height in ((CROWDED, 0.9), (CROWDED + 1, STRIP)):
        low, high = view._chart.x_range()
        item.set_marks(np.linspace(low, high, count + 2)[1:-1], np.full(count, ANNOTATION))
        view._chart.grab()
        begin, end = item.drawn_spans[ANNOTATION]
        assert end - begin == pytest.approx(height, abs=0.08 if count == CROWDED else 1e-9)


def test_that_the_reserved_curve_ends_at_the_files_own_sum(view):
    view._on_window(0)
    session = view._session
    reserved = int(session.store.records("segments")[0].columns["segment_bytes"].sum())
    curve = view._curves.in_window("reserved", view._model.axis("time"), view.snapshot().window, 1000, -2)
    assert int(curve.bytes[-1]) == reserved
    assert int(curve.bytes.min()) >= 0
    assert view._chart.curve_lines["reserved"].isVisible()


def test_that_a_search_counts_shows_and_steps_through(view, qtbot):
    search = view.findChild(object, "memorySearch")
    search.setText("> 1 MiB")
    settle(qtbot, view)
    text = view.findChild(object, "memoryReadout").text()
    assert "allocations found" in text
    assert view._chart.found_line.isVisible()
    qtbot.keyClick(search, "\r")
    first = view._session.selection.alloc_row
    qtbot.keyClick(search, "\r")
    assert view._session.selection.alloc_row != first
    search.setText("nothing like it")
    settle(qtbot, view)
    assert "Nothing found" in view.findChild(object, "memoryReadout").text()


def test_that_f3_and_shift_f3_go_forth_and_back(view, qtbot):
    search = view.findChild(object, "memorySearch")
    search.setText("> 1 MiB")
    settle(qtbot, view)
    rows = []
    for modifier in (Qt.KeyboardModifier.NoModifier,) * 2 + (Qt.KeyboardModifier.ShiftModifier,):
        qtbot.keyClick(view, Qt.Key.Key_F3, modifier)
        rows.append(view._session.selection.alloc_row)
    assert rows[0] == rows[2] != rows[1]
    assert "Found 1 of" in view.findChild(object, "memoryReadout").text()


def test_that_a_small_view_shows_tabs_and_keeps_its_size(view, qtbot):
    view.resize(690, 400)
    tabs = view.findChild(object, "memorySideTabs")
    assert tabs.isVisible()
    assert not tabs.isTabVisible(2)
    assert (view.width(), view.height()) == (690, 400)
    view._session.select(Selection(alloc_row=0))
    assert tabs.isTabVisible(2)
    view.resize(1200, 800)
    assert not tabs.isVisible()
    assert view.findChild(object, "blockDetails").isVisible()


def test_that_the_label_of_the_axis_follows_it(view):
    view._bar._axes["event"].setChecked(True)
    assert view._chart.getPlotItem().getAxis("bottom").labelText == "Allocator event"
    view._bar._axes["time"].setChecked(True)
    assert "(s)" in view._chart.getPlotItem().getAxis("bottom").labelText


def test_that_the_list_marks_the_selected_life_of_an_address_and_no_other(view, qtbot):
    blocks, _ = view._model.largest_blocks(view.snapshot().peak_t_ns)
    shown = blocks[0]
    view._session.select(Selection(storage=shown.address, alloc_row=shown.row))
    table = view.findChild(object, "memoryBlocks")
    view._readout.list_blocks()
    assert len(table.selectionModel().selectedRows()) == (shown.row >= 0)
    addresses, delta = (view._session.store.tables["alloc"][name] for name in ("address", "delta_bytes"))
    others = [
        row
        for row in range(len(addresses))
        if addresses[row] == shown.address and delta[row] >= 0 and row != shown.row
    ]
    for row in others:
        view._session.select(Selection(storage=shown.address, alloc_row=row))
        view._readout.list_blocks()
        assert not table.selectionModel().selectedRows()


def test_that_everything_can_be_shown_at_once(view):
    view._on_window(1)
    view.show_everything()
    assert view.snapshot().window == view._model.axis("time").span()


def test_that_the_selected_block_tells_its_stack(view, qtbot):
    search = view.findChild(object, "memorySearch")
    search.setText("> 1 MiB")
    settle(qtbot, view)
    qtbot.keyClick(search, "\r")
    text = view.findChild(object, "blockDetailsText").text()
    assert "Stack, innermost first" in text
    assert ".py:" in text
    assert not view.findChild(object, "whoHoldsIt").isVisible()  # a file has nobody to ask


def test_that_hovering_names_the_allocation(view, qtbot):
    chart = view._chart
    rect = chart.stack
    at = int((rect._x1 - rect._x0).argmax())
    chart.hovered.emit(float(rect._x0[at]), float((rect._y0[at] + rect._y1[at]) / 2))
    text = view.findChild(object, "memoryReadout").text()
    assert "allocates" in text or "frees" in text
    assert any(words in text for words in ("ms later", "after ", "still alive", "before the recording"))


def test_that_a_moment_chosen_elsewhere_moves_the_window_and_the_table(view, qtbot):
    view._session.go_to_moment(1_000)
    qtbot.waitUntil(lambda: view._chart.moment_line.isVisible())
    assert "table: at 0.000001 s" in view.findChild(object, "memoryReadout").text()


def test_that_the_csv_has_the_series_of_the_grouping(view, qtbot, tmp_path):
    choose(qtbot, view, "pool")
    view.export(tmp_path / "a.csv", "csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        header = next(csv.reader(file))
    assert header[4:] == ["Default pool_bytes", "(0, 1)_bytes"] or set(header[4:]) == {
        "Default pool_bytes", "(0, 1)_bytes"
    }  # fmt: skip
