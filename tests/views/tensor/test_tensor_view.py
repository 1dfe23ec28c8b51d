import csv
import dataclasses

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication

from tensorscope.compute.strides import LAYOUTS, Strided
from tensorscope.core.schema import ROLES
from tensorscope.core.wire import Column, Frame
from tensorscope.models.selection import Selection
from tensorscope.models.session_model import SessionModel
from tensorscope.views.tensor.tensor_item_model import LAYOUT, NAME, OWN_BYTES, TensorItemModel
from tensorscope.views.tensor.tensor_names import TensorNames
from tensorscope.views.tensor.tensor_view import TensorView
from tests.support.sessions import FakeSource, fed, sample_session


@pytest.fixture
def source():
    return FakeSource()


@pytest.fixture
def view(qtbot, source):
    view = TensorView()
    qtbot.addWidget(view)
    view.resize(1200, 800)
    view.show()
    view.set_session(sample_session(source=source))
    return view


def select(view, name):
    view._session.select(Selection(tensor=name))
    return view.panel


def many_tensors(count):
    """Return a tensors record of `count` matrices, every second one transposed."""
    side = np.arange(count) % 7 + 2
    flat = np.stack([side, side + 1], axis=1).ravel().astype(np.int64)
    rows = np.arange(count)
    strides = np.where((rows % 2)[:, None], [[1, 2]], [[1, 1]]).astype(np.int64)
    strides[:, 0] = np.where(rows % 2, 1, side + 1)
    strides[:, 1] = np.where(rows % 2, side, 1)
    full = {
        "name": 1 + rows, "role": rows % 8, "dtype": rows * 0, "device": rows * 0 - 1,
        "itemsize_bytes": rows * 0 + 4, "ndim": rows * 0 + 2, "sizes_elems": flat,
        "strides_elems": strides.ravel(), "offset_elems": rows * 0, "storage": 64 + 512 * (rows // 3),
        "storage_bytes": rows * 0 + 512, "requires_grad": rows % 2, "is_leaf": rows * 0 + 1,
        "grad_fn": rows * 0, "version": rows * 0, "module": rows * 0, "node": rows * 0 - 1,
    }  # fmt: skip
    dtypes = {"role": "u1", "device": "i2", "itemsize_bytes": "u1", "ndim": "u1", "sizes_elems": "i8",
              "strides_elems": "i8", "offset_elems": "i8", "storage": "u8", "storage_bytes": "i8",
              "requires_grad": "u1", "is_leaf": "u1", "version": "i4", "node": "i4"}  # fmt: skip
    columns = {}
    for name, values in full.items():
        array = values.astype("<" + dtypes.get(name, "u4"))
        columns[name] = Column(dtypes.get(name, "u4"), array.shape, array.tobytes())
    words = [f"layer.{i % 97}.tensor.{i}" for i in range(count)]
    return [Frame("strings", meta={"first": 1, "values": words}), Frame("tensors", 0, columns=columns)]


def test_that_the_table_says_what_the_capture_says(view):
    items = view._items
    assert items.rowCount() == len(view._session.store.records("tensors")[0].columns["name"])
    at = items.view_row(view._snapshot.rows.row_of("blocks.0.attn.q"))
    texts = [items.index(at, column).data() for column in range(items.columnCount())]
    assert texts[:6] == [
        "blocks.0.attn.q",
        "Activation",
        "[8, 4, 32, 16]",
        "float32",
        "[6144, 16, 192, 1]",
        "0",
    ]
    assert texts[7:12] == ["64.0 KiB", "192 KiB", "transposed", "3", "yes"]
    assert items.index(at, 4).data(Qt.ItemDataRole.ToolTipRole) == "In bytes: [24576, 64, 768, 4]"


def test_that_the_item_model_keeps_qts_rules_under_sorting_and_filtering(qtbot):
    items = TensorItemModel(TensorNames())
    tester = QAbstractItemModelTester(items, QAbstractItemModelTester.FailureReportingMode.Fatal)
    items.set_rows(TensorView()._model.resolve(fed(SessionModel(), many_tensors(50)).store, 0).rows)
    for column_ in range(items.columnCount()):
        for order in Qt.SortOrder:
            items.sort(column_, order)
    items.set_filter("layer.1", -1, -1)
    assert 0 < items.rowCount() < 50
    items.set_filter("", ROLES.index("gradient"), LAYOUTS.index("transposed"))
    assert {items.index(row, LAYOUT).data() for row in range(items.rowCount())} == {"transposed"}
    items.set_rows(None)
    assert items.rowCount() == 0
    assert tester.model() is items


def test_that_sorting_orders_by_the_number_not_by_its_text(view):
    view._items.sort(OWN_BYTES, Qt.SortOrder.DescendingOrder)
    rows = view._items.shown()
    own = (view._snapshot.rows.numel * view._snapshot.rows.itemsize_bytes)[rows]
    assert (np.diff(own) <= 0).all()
    assert own[0] > own[-1]


def test_that_a_hundred_thousand_rows_ask_for_no_more_cells_than_are_seen(qtbot, monkeypatch):
    view = TensorView()
    qtbot.addWidget(view)
    view.resize(900, 600)
    view.show()
    view.set_session(fed(SessionModel(), many_tensors(100_000)))
    asked = []
    original = TensorItemModel.text
    monkeypatch.setattr(TensorItemModel, "text", lambda self, *a: asked.append(a) or original(self, *a))
    view._table.verticalScrollBar().setValue(50_000)
    view.grab()
    assert 0 < len(asked) < 2_000


def test_that_at_first_a_view_of_a_shared_storage_is_shown_without_selecting_it(view):
    assert view.panel._tensor.name == "blocks.0.attn.q"
    assert view._session.selection == Selection()


def test_that_selecting_a_row_selects_tensor_storage_node_and_module_everywhere(view):
    index = view._items.index(view._items.view_row(5), NAME)
    view._table.setCurrentIndex(index)
    selection = view._session.selection
    rows = view._snapshot.rows
    assert selection.tensor == rows.names[5] == view.panel._tensor.name
    assert selection.storage == rows.storage[5]
    assert selection.module == rows.text("module", 5)


def test_that_a_selection_from_another_view_is_found_by_name_storage_and_module(view):
    rows = view._snapshot.rows
    select(view, "head.weight")
    assert view.selected_row() == rows.row_of("head.weight")
    view._session.select(Selection(storage=int(rows.storage[3])))
    assert view.selected_row() == 3
    view._session.select(Selection(module="blocks.1.mlp.up"))
    assert rows.names[view.selected_row()] == "blocks.1.mlp.up.weight"
    current = view._table.currentIndex()
    assert view._items.tensor_row(current) == view.selected_row()
    rect = view._table.visualRect(current)
    assert view._table.viewport().rect().intersects(rect)


def grid_points(panel):
    """Yield (point, row, column) of the middle of every visible cell."""
    grid = panel.grid
    area, cell = grid._area(), grid._cell()
    top, left, down, right = grid.visible_part()
    for row in range(down):
        for at in range(right):
            point = QPoint(area.left() + at * cell + cell // 2, area.top() + row * cell + cell // 2)
            if grid.viewport().rect().contains(point):
                yield point, top + row, left + at


def test_that_hovering_the_grid_marks_the_bytes_of_that_element_and_back(view):
    panel = select(view, "blocks.0.attn.k")
    tensor = panel._tensor.strided
    panel.axis_bar.findChild(object, "axisSlider0").setValue(3)
    for point, row, at in list(grid_points(panel))[::17]:
        index = panel.grid.index_at(point)
        assert index == (3, 0, row, at)
        panel.grid.hovered.emit(index)
        place = tensor.position(index)
        assert panel.strip._mark == (4 * place, 4 * place + 4)
        assert f"= element {place:,}, byte {4 * place:,} of" in panel._reading.text()
        panel.strip.hovered.emit(4 * place + 2)
        assert panel.grid._mark == (place, place + 1)
        marked = np.argwhere(panel.grid.positions() == place).tolist()
        assert marked == [[row, at]]
        assert str(list(index)) in panel._reading.text()


def test_that_the_strip_names_every_element_of_other_tensors_at_that_byte(view):
    panel = select(view, "blocks.0.attn.q")
    place = panel._tensor.views[1].strided.position((2, 1, 5, 3))
    name = panel._tensor.views[1].name
    panel.strip.hovered.emit(4 * place)
    assert "no element of this tensor" in panel._reading.text()
    assert f"{name}[2, 1, 5, 3]" in panel._reading.text()
    panel = select(view, "blocks.0.attn.mask")
    panel.strip.hovered.emit(4 * 100)
    assert "[0, 3, 4]" in panel._reading.text()
    assert "[1, 3, 4]" in panel._reading.text()


def test_that_strip_pixels_and_bytes_map_both_ways_at_any_zoom(view):
    strip = select(view, "head.weight").strip
    for factor in (1.0, 0.3, 0.05):
        strip._zoom(sum(strip._extent()) / 3, factor)
        left, right = strip._extent()
        for x in range(left, right, 37):
            byte = strip.byte_at(x + 0.5)
            assert strip.x_of(byte) <= x + 0.5 <= strip.x_of(byte + 1)
    assert strip.byte_at(left - 1) is None


def test_that_any_two_axes_can_be_shown_and_are_swapped_when_equal(view):
    panel = select(view, "blocks.0.attn.q")
    assert panel.grid.axes == (2, 3)
    rows = panel.axis_bar.findChild(object, "rowAxis")
    rows.setCurrentIndex(3)
    rows.activated.emit(3)
    assert panel.grid.axes == (3, 2)
    assert panel.grid.shape() == (16, 32)
    columns = panel.axis_bar.findChild(object, "columnAxis")
    columns.setCurrentIndex(0)
    columns.activated.emit(0)
    assert panel.grid.axes == (3, 0)
    assert panel.grid.shape() == (16, 8)


def test_that_the_cells_drawn_are_bounded_by_the_window_not_by_the_tensor(qtbot, view):
    grid = view.panel.grid
    grid.show_tensor(Strided((1 << 20, 1 << 20), (1 << 20, 1)), 1 << 40)
    view.panel.grid.setVisible(True)
    view.grab()
    assert 0 < grid.cells_drawn <= (grid.width() // 5 + 1) * (grid.height() // 5 + 1)


def test_that_values_are_asked_for_and_shown(view, source):
    panel = select(view, "head.weight")
    panel._read.setChecked(True)
    args = source.sent[-1].meta["args"]
    top, left, down, right = panel.grid.visible_part()
    assert args["tensor"] == "head.weight"
    assert args["axes"] == [0, 1]
    assert args["start"] == [top, left]
    assert args["shape"] == [min(down, 256), min(right, 256)]
    assert not view.is_idle()
    data = np.arange(args["shape"][0] * args["shape"][1], dtype="<f8").reshape(args["shape"])
    meta = {
        "id": source.sent[-1].meta["id"],
        "ok": True,
        "error": None,
        "tensor": "head.weight",
        "dtype": "float32",
        "shape": [96, 64],
        "axes": [0, 1],
        "start": [0, 0],
        "complete": False,
    }
    fed(
        view._session,
        [Frame("values", 40, meta=meta, columns={"data": Column("f8", data.shape, data.tobytes())})],
    )
    view.refresh()
    assert view.is_idle()
    assert (panel.grid._visible_values((down, right))[:2, :3] == data[:2, :3]).all()


def test_that_a_refusal_of_values_is_said_and_geometry_stays(view, source):
    panel = select(view, "blocks.0.attn.q")
    panel._read.setChecked(True)
    source.reply(ok=False, error="It is gone.")
    view._session.pump()
    assert view.is_idle()
    assert panel._reading.text() == "No values: It is gone."
    assert panel.grid.positions().size


def test_that_without_a_live_program_values_cannot_be_asked_for_and_it_says_why(qtbot):
    view = TensorView()
    qtbot.addWidget(view)
    view.set_session(sample_session())
    panel = select(view, "head.weight")
    assert not panel._read.isEnabled()
    assert "running program" in panel._read.toolTip()


def test_that_a_layout_that_cannot_be_true_is_said_not_drawn(qtbot):
    session = fed(SessionModel(), many_tensors(4))
    record = session.store.records("tensors")[0]
    columns = {**record.columns, "offset_elems": np.array([0, 0, 1 << 40, 0])}
    session.store._records["tensors"] = [dataclasses.replace(record, columns=columns)]
    view = TensorView()
    qtbot.addWidget(view)
    view.set_session(session)
    panel = select(view, "layer.2.tensor.2")
    assert "outside of its storage" in panel._reading.text()
    assert panel.grid.isHidden()
    columns["sizes_elems"] = columns["sizes_elems"][:-1]
    session.store._records["tensors"] = [dataclasses.replace(record, columns=columns)]
    view.refresh()
    assert "do not add up" in view._message._text.text()


def test_that_with_no_capture_the_view_says_what_to_do_and_does_it(qtbot, source):
    view = TensorView()
    qtbot.addWidget(view)
    session = SessionModel("empty", source)
    view.set_session(session)
    assert not view._message.isHidden()
    qtbot.mouseClick(view._message._button, Qt.MouseButton.LeftButton)
    assert source.sent[-1].meta["name"] == "deep"
    fed(session, [])
    view.refresh()


@pytest.mark.parametrize("file_format", ["png", "svg", "csv"])
def test_that_what_is_shown_is_written(view, tmp_path, file_format):
    select(view, "blocks.0.attn.q")
    view._search.setText("attn")
    path = tmp_path / f"tensors.{file_format}"
    view.export(path, file_format)
    if file_format == "csv":
        rows = list(csv.reader(path.read_text().splitlines()))
        assert len(rows) == view._items.rowCount() + 1
        assert rows[0][:3] == ["name", "role", "shape"]
    else:
        assert path.stat().st_size > 5_000
    with pytest.raises(OSError, match="no/such"):
        view.export(tmp_path / "no/such/dir.csv", "csv")


def test_that_texts_are_made_anew_when_the_language_changes(view):
    view._search.setPlaceholderText("?")
    QApplication.sendEvent(view, QEvent(QEvent.Type.LanguageChange))
    assert view._search.placeholderText() == "Find by name"
