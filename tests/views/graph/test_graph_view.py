import csv
import io

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtWidgets import QApplication

from tensorscope.compute.graph_condense import BOX, CLUSTER, OP
from tensorscope.models.graph_model import GraphModel, TextSizes, picture_of
from tensorscope.models.selection import NOTHING, Selection
from tensorscope.models.session_model import SessionModel
from tensorscope.views.graph.graph_files import write_dot
from tensorscope.views.graph.graph_painter import item_rect
from tensorscope.views.graph.graph_view import GraphView
from tests.support.graphs import graph_frames, stored_graph, synthetic_graph
from tests.support.sessions import FakeSource, fed, sample_session


def shown(qtbot, session, width=1200, height=800):
    view = GraphView()
    qtbot.addWidget(view, before_close_func=lambda view: view._worker.wait())
    view.resize(width, height)
    view.show()
    view.set_session(session)
    qtbot.waitUntil(view.is_idle)
    return view


@pytest.fixture
def view(qtbot):
    return shown(qtbot, sample_session(source=FakeSource()))


def item(view, title, kind=None):
    picture = view.picture()
    found = [
        i for i, text in enumerate(picture.titles)
        if text == title and (kind is None or picture.shown.kind[i] == kind)
    ]  # fmt: skip
    assert found, picture.titles
    return found[0]


def middle(view, at):
    return view.canvas.to_screen(item_rect(view.picture(), at).center())


def expand(view, qtbot, at):
    view.expand_item(at)
    qtbot.waitUntil(view.is_idle)


def test_that_the_first_picture_fits_and_can_be_read(view):
    picture, canvas = view.picture(), view.canvas
    assert 3 <= picture.count <= 150
    assert canvas.scale >= 0.6
    left, top, right, bottom = picture.bounds()
    for corner in (QPointF(left, top), QPointF(right, bottom)):
        at = canvas.to_screen(corner)
        assert -1 <= at.x() <= canvas.width() + 1
        assert -1 <= at.y() <= canvas.height() + 1


def test_that_inputs_are_at_the_top_and_the_loss_at_the_bottom(view):
    shape = view.picture().geometry
    loss, embedding = item(view, "NllLoss"), item(view, "embed")
    assert shape.y0[loss] > shape.y1[embedding]


def test_that_expanding_shows_what_is_inside_and_leaves_the_box_in_place(view, qtbot):
    block = item(view, "blocks.0", BOX)
    key, saved = view.picture().key(block), view.picture().saved_bytes[block]
    before = view.canvas.anchor(block)[1]
    expand(view, qtbot, block)
    picture = view.picture()
    opened = next(i for i in range(picture.count) if picture.key(i) == key)
    assert picture.shown.kind[opened] == CLUSTER
    inside = [i for i in range(picture.count) if picture.shown.parent[i] == opened]
    assert {picture.titles[i] for i in inside} >= {"attn", "mlp", "norm", "Add"}
    assert picture.saved_bytes[inside].sum() == saved
    after = view.canvas.anchor(opened)[1]
    assert (after - before).manhattanLength() < 1e-6
    expand(view, qtbot, opened)
    assert item(view, "blocks.0", BOX) >= 0


def test_that_a_double_click_and_enter_expand_and_collapse(view, qtbot):
    block = item(view, "blocks.1", BOX)
    qtbot.mouseDClick(view.canvas, Qt.MouseButton.LeftButton, pos=middle(view, block).toPoint())
    qtbot.waitUntil(view.is_idle)
    opened = item(view, "blocks.1", CLUSTER)
    view.canvas.item_clicked.emit(opened)
    qtbot.keyClick(view.canvas, Qt.Key.Key_Return)
    qtbot.waitUntil(view.is_idle)
    assert item(view, "blocks.1", BOX) >= 0


def test_that_one_level_more_and_collapse_all_do_that(view, qtbot):
    count = view.picture().count
    view._on_more()
    qtbot.waitUntil(view.is_idle)
    assert view.picture().count > count
    view._on_collapse_all()
    qtbot.waitUntil(view.is_idle)
    assert CLUSTER not in view.picture().shown.kind
    assert view.picture().count < count


def test_that_the_menu_names_what_it_expands(view):
    block = item(view, "blocks.0", BOX)
    texts = [action.text() for action in view.menu_for(block).actions()]
    assert texts[0] == "Expand blocks.0"
    assert "Collapse all" in texts
    assert view.menu_for(-1).actions()[0].text() == "Expand one level"


def test_that_a_click_selects_the_node_and_its_module_everywhere(view, qtbot):
    head = item(view, "Mm", OP)
    qtbot.mouseClick(view.canvas, Qt.MouseButton.LeftButton, pos=middle(view, head).toPoint())
    selection = view._session.selection
    assert selection.module == "head"
    assert view.picture().data.text("node_name", selection.node) == "MmBackward0"
    text = view.details.toPlainText().replace("\u200b", "")
    for part in ("MmBackward0", "head", "[256, 96]", "float32", "model.py:41", "64.0 KiB", "self"):
        assert part in text
    qtbot.mouseClick(view.canvas, Qt.MouseButton.LeftButton, pos=QPoint(4, 4))
    assert view._session.selection == NOTHING


def test_that_what_is_selected_elsewhere_is_marked_here(view, qtbot):
    data, picture = view.picture().data, view.picture()
    view._session.select(Selection(tensor="head.weight"))
    assert view.canvas.marks.selected == item(view, "Mm")
    assert "head.weight" in view.details.toPlainText().replace("\u200b", "")
    row = int(np.flatnonzero(data.saved_bytes[data.record.columns["saved_node"]] == 196608)[0])
    storage = int(data.record.columns["saved_storage"][row])
    view._session.select(Selection(storage=storage))
    assert view.canvas.marks.selected == picture.item_of_node(int(data.record.columns["saved_node"][row]))
    view._session.select(Selection(module="blocks.1.attn.qkv"))
    assert picture.titles[view.canvas.marks.selected] == "blocks.1"
    view._session.select(Selection(tensor="nothing.of.this"))
    assert view.canvas.marks.selected == -1


def test_that_revealing_opens_every_module_around_the_selected_node(view, qtbot):
    data = view.picture().data
    node = next(n for n in range(data.count) if data.text("node_module", n) == "blocks.1.attn.qkv")
    view._session.select(Selection(node=node))
    view._on_reveal()
    qtbot.waitUntil(view.is_idle)
    picture = view.picture()
    assert picture.node(picture.item_of_node(node)) == node
    assert view.canvas.marks.selected == picture.item_of_node(node)


def test_that_parameters_stand_at_the_operation_that_uses_them(view):
    picture = view.picture()
    at = np.flatnonzero(picture.chip_item == item(view, "Mm"))
    assert [picture.chip_text[chip] for chip in at] == ["weight"]
    view.canvas.chip_clicked.emit(int(at[0]))
    assert view._session.selection.tensor == "head.weight"
    assert "Used by" in view.details.toPlainText()


def test_that_arrows_walk_along_edges(view, qtbot):
    view.canvas.item_clicked.emit(item(view, "LogSoftmax"))
    qtbot.keyClick(view.canvas, Qt.Key.Key_Down)
    assert view.canvas.marks.selected == item(view, "NllLoss")
    qtbot.keyClick(view.canvas, Qt.Key.Key_Up)
    qtbot.keyClick(view.canvas, Qt.Key.Key_Up)
    assert view.canvas.marks.selected == item(view, "Mm")
    qtbot.keyClick(view.canvas, Qt.Key.Key_Backspace)
    assert view.canvas.marks.selected == item(view, "head", CLUSTER)


def test_that_search_marks_boxes_and_enter_goes_through_them(view, qtbot):
    qtbot.keyClicks(view.canvas, "/")
    view._bar.search.setText("gelu")
    matches = view.canvas.marks.matches
    assert {view.picture().titles[i] for i in matches} == {"blocks.0", "blocks.1"}
    assert view._bar._found.text() == "2 nodes in 2 boxes"
    qtbot.keyClick(view._bar.search, Qt.Key.Key_Return)
    assert view.canvas.marks.selected == matches[0]
    qtbot.keyClick(view._bar.search, Qt.Key.Key_Return)
    assert view.canvas.marks.selected == matches[1]
    view._bar.search.setText("no such thing")
    assert view._bar._found.text() == "nothing found"


def test_that_zooming_keeps_the_point_under_the_mouse_and_f_fits(view, qtbot):
    canvas = view.canvas
    about = QPointF(300, 200)
    before = canvas.to_picture(about)
    canvas.zoom(1.7, about)
    assert (canvas.to_picture(about) - before).manhattanLength() < 1e-6
    scale = canvas.scale
    qtbot.keyClick(canvas, Qt.Key.Key_F)
    assert canvas.scale < scale


def test_that_what_is_drawn_is_bounded_by_what_is_seen(qtbot):
    session = fed(SessionModel(), synthetic_graph(20_000, modules=False))
    view = shown(qtbot, session)
    data = view.picture().data
    everything = frozenset(data.outline.key(group) for group in range(len(data.outline.kind)))
    view.canvas.show_picture(picture_of(data, everything, TextSizes()))
    assert view.picture().count > 20_000
    view.canvas.grab()
    assert view.canvas.painter.counts["calls"] < 1_700
    assert view.canvas.painter.counts["texts"] == 0
    view.canvas.centre_on(view.picture().count // 2)
    view.canvas.grab()
    counts = view.canvas.painter.counts
    assert 0 < counts["boxes"] < 200
    assert 0 < counts["texts"] < 800


def test_that_only_the_newest_layout_is_shown(view, qtbot):
    for keys in (frozenset(), view.picture().expanded, frozenset()):
        view._ask(keys)
    qtbot.waitUntil(view.is_idle)
    view._worker._thread.join()
    QApplication.processEvents()
    assert view.picture().expanded == frozenset()


def test_that_a_new_capture_keeps_what_is_expanded(view, qtbot):
    expand(view, qtbot, item(view, "blocks.0", BOX))
    expanded = view.picture().expanded
    record = view._session.store.records("graph")[0]
    view._session.store.records("graph").append(record.__class__(**{**vars(record), "step": 5}))
    view.refresh()
    qtbot.waitUntil(view.is_idle)
    assert view.picture().expanded == expanded
    assert "captured at step 5" in view._status.text()


def test_that_no_node_one_node_and_real_graphs_are_shown(qtbot):
    view = shown(qtbot, fed(SessionModel(), graph_frames([], [])))
    assert view._body.isHidden()
    view = shown(qtbot, fed(SessionModel(), graph_frames([("MulBackward0", 1, "", 0, "", "[]", 8)], [])))
    assert view.picture().titles == ["Mul"]
    view.canvas.grab()
    view = shown(qtbot, fed(SessionModel(), stored_graph("gpt12")), 700, 450)
    assert view.canvas.scale >= 0.6
    assert "h.0 … 11  × 12" in view.picture().titles


def test_that_without_a_capture_the_view_says_what_to_do(qtbot):
    source = FakeSource()
    view = shown(qtbot, SessionModel("empty", source))
    assert "No deep step" in view._message._text.text()
    qtbot.mouseClick(view._message._button, Qt.MouseButton.LeftButton)
    assert source.sent[-1].meta["name"] == "deep"


@pytest.mark.parametrize("file_format", ["png", "svg", "csv", "dot"])
def test_that_all_of_what_is_expanded_is_written(view, tmp_path, file_format):
    path = tmp_path / f"graph.{file_format}"
    view.export(path, file_format)
    if file_format == "csv":
        rows = list(csv.DictReader(path.read_text().splitlines()))
        assert len(rows) == view.picture().count
        top = sum(int(row["saved_bytes"]) for row in rows if row["inside"] == "-1")
        assert top == view.picture().data.saved_bytes.sum()
    elif file_format == "dot":
        text = path.read_text()
        assert text.count("{") == text.count("}")
        edges = {line.strip() for line in text.splitlines() if "->" in line}
        assert edges >= {f"n{a} -> n{b};" for a, b in view.picture().innermost_edges()}
    else:
        assert path.stat().st_size > 4_000
    with pytest.raises(OSError, match="bmp"):
        view.export(tmp_path / "graph.bmp", "bmp")


def test_that_dot_text_escapes_what_it_must():
    frames = graph_frames([('Odd"Name\\Backward0', 1, "a", 0, "", "[]", 0)], [])
    view_data = fed(SessionModel(), frames)
    data = GraphModel().resolve(view_data.store, 0).data
    file = io.StringIO()
    write_dot(picture_of(data, frozenset(data.outline.key(g) for g in (0, 1)), TextSizes()), file)
    assert 'Odd\\"Name\\\\' in file.getvalue()


def test_that_texts_are_made_anew_when_the_language_changes(view):
    view._bar.search.setPlaceholderText("?")
    QApplication.sendEvent(view, QEvent(QEvent.Type.LanguageChange))
    assert view._bar.search.placeholderText() == "Find: name, op:addmm, param:weight, bytes>1MiB, time>1ms"
