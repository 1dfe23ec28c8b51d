"""Every tensor of the captured step, and for the selected one how it lies in its storage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from psygnal import SignalInstance
from PySide6.QtCore import QEvent, QItemSelectionModel, QModelIndex, Qt
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QSplitter,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from tensorscope.compute.strides import LAYOUTS
from tensorscope.core.schema import ROLES
from tensorscope.models.selection import Selection
from tensorscope.models.session_model import SessionModel
from tensorscope.models.tensor_model import TensorModel, TensorsSnapshot, resolve_tensor
from tensorscope.models.values_request import Part, ValuesRequest
from tensorscope.views.capture_message import CaptureMessage
from tensorscope.views.csv_file import write_csv
from tensorscope.views.picture import write_picture
from tensorscope.views.session_view import SessionView
from tensorscope.views.tensor.tensor_item_model import COLUMNS, NAME, TensorItemModel
from tensorscope.views.tensor.tensor_names import TensorNames
from tensorscope.views.tensor.tensor_panel import TensorPanel

NARROW_EM = 60
COLUMN_CHARACTERS = (30, 16, 17, 10, 20, 11, 10, 12, 13, 14, 11, 14, 20)


class TensorView(SessionView):
    """Left the table, right grid and storage strip. Shows the newest deep capture up to the step."""

    view_id: ClassVar[str] = "tensor"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("tensorView")
        self._names = TensorNames(self)
        self._session = SessionModel()
        self._model = TensorModel()
        self._values = ValuesRequest(self._session)
        self._snapshot = TensorsSnapshot()
        self._row = -1
        self._items = TensorItemModel(self._names, self)
        self._build()
        self._retranslate()

    def title(self) -> str:
        """Return the name of the view."""
        return self.tr("Tensors")

    def _build(self) -> None:
        self._search = QLineEdit(self)
        self._search.setObjectName("tensorSearch")
        self._search.setClearButtonEnabled(True)
        self._search.textChanged.connect(self._on_filter)
        self._role, self._layout_box = QComboBox(self), QComboBox(self)
        self._role.setObjectName("tensorRole")
        self._role.activated.connect(self._on_filter)
        self._layout_box.setObjectName("tensorLayout")
        self._layout_box.activated.connect(self._on_filter)
        self._count = QLabel(self)
        self._table = QTableView(self)
        self._table.setObjectName("tensorTable")
        self._table.setModel(self._items)
        self._set_up_table()
        self.panel = TensorPanel(self._names, self)
        self.panel.values_wanted.connect(self._on_values_wanted)
        self.panel.tensor_picked.connect(self._select_row)
        self._message = CaptureMessage(self)
        bar = QHBoxLayout()
        bar.setContentsMargins(8, 6, 8, 4)
        bar.addWidget(self._search, 1)
        bar.addWidget(self._role)
        bar.addWidget(self._layout_box)
        left = QWidget(self)
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(bar)
        column.addWidget(self._table, 1)
        self._count.setContentsMargins(8, 2, 8, 4)
        column.addWidget(self._count)
        self._splitter = QSplitter(Qt.Orientation.Horizontal, self)
        self._splitter.addWidget(left)
        self._splitter.addWidget(self.panel)
        self._splitter.setChildrenCollapsible(False)
        self._splitter.setStretchFactor(0, 1)
        self._splitter.setStretchFactor(1, 1)
        self._splitter.setSizes([1000, 1000])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._splitter, 1)
        layout.addWidget(self._message, 1)

    def _set_up_table(self) -> None:
        table, digit_px = self._table, self.fontMetrics().horizontalAdvance("0")
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setAlternatingRowColors(True)
        table.setShowGrid(False)
        table.setWordWrap(False)
        table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        table.setFrameShape(QTableView.Shape.NoFrame)
        rows, columns = table.verticalHeader(), table.horizontalHeader()
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(self.fontMetrics().height() + 6)
        columns.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        columns.setSectionsMovable(True)
        columns.setHighlightSections(False)
        columns.setStretchLastSection(True)
        columns.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        table.setSortingEnabled(True)
        for column, characters in enumerate(COLUMN_CHARACTERS):
            table.setColumnWidth(column, characters * digit_px)
        table.selectionModel().currentRowChanged.connect(self._on_current)

    # -- session ----------------------------------------------------------------------------------

    def set_session(self, session: SessionModel) -> None:
        """Show another session."""
        for signal, slot in self._connections():
            signal.disconnect(slot, missing_ok=True)
        self._session = session
        self._model, self._values = TensorModel(), ValuesRequest(session)
        self._row = -1
        for signal, slot in self._connections():
            signal.connect(slot)
        self._message.set_session(session)
        self.refresh()

    def _connections(self) -> tuple[tuple[SignalInstance, Callable[..., None]], ...]:
        session = self._session
        return (
            (session.step_changed, self._on_step),
            (session.selection_changed, self._on_selection),
            (session.state_changed, self._on_state),
            (session.reply_received, self._on_reply),
        )

    def refresh(self) -> None:
        """Show the newest capture at or before the current step."""
        before = self._snapshot.rows
        self._snapshot = self._model.resolve(self._session.store, self._session.current_step)
        rows = self._snapshot.rows
        if rows is not before:
            self._items.set_rows(rows)
            self._row = -1
            self.panel.show_tensor(None)
            self._find(self._session.selection)
            if rows is not None and len(rows) and self._row < 0:
                self._show_row(rows.telling_row())
        self._splitter.setVisible(rows is not None and len(rows) > 0)
        self._message.show_for(empty=rows is None or not len(rows), problem=self._snapshot.problem)
        self.panel.set_live(self._session.state == "open")
        if self._values.advance():
            self.panel.show_values(self._values.values, self._values.problem)
        self._show_count()

    def is_idle(self) -> bool:
        """Return whether no values are waited for."""
        return not self._values.waiting

    def selected_row(self) -> int:
        """Return the row of the capture that is selected, -1 if none."""
        return self._row

    # -- what the person does ---------------------------------------------------------------------

    def _on_step(self, step: int) -> None:
        if self.isVisible():
            self.refresh()

    def _on_state(self) -> None:
        self.panel.set_live(self._session.state == "open")
        self._message.refresh()

    def _on_reply(self, meta: dict[str, object]) -> None:
        self._values.on_reply(meta)
        if self._values.problem:
            self.panel.show_values(None, self._values.problem)

    def _on_values_wanted(self, part: Part) -> None:
        self._values.ask(part)

    def _on_filter(self) -> None:
        self._items.set_filter(
            self._search.text().strip(), self._role.currentData(), self._layout_box.currentData()
        )
        self._show_current()
        self._show_count()

    def _on_current(self, current: QModelIndex, before: QModelIndex) -> None:
        row = self._items.tensor_row(current)
        if row >= 0 and row != self._row:
            self._select_row(row)

    def _select_row(self, row: int) -> None:
        rows = self._snapshot.rows
        if rows is None:
            return
        self._show_row(row)
        self._session.select(
            Selection(
                tensor=rows.names[row], storage=int(rows.storage[row]), node=int(rows.node[row]),
                module=rows.text("module", row),
            )
        )  # fmt: skip

    def _on_selection(self, selection: Selection) -> None:
        self._find(selection)

    def _find(self, selection: Selection) -> None:
        """Show the tensor that was selected in another view, if there is one here."""
        rows = self._snapshot.rows
        if rows is None:
            return
        row = rows.row_of(selection.tensor) if selection.tensor else -1
        if row < 0:
            row = rows.row_of_storage(selection.storage)
        if row < 0 and selection.module and not selection.storage:
            row = rows.row_of(f"{selection.module}.weight")
        if row >= 0 and row != self._row:
            self._show_row(row)

    def _show_row(self, row: int) -> None:
        self._row = row
        assert self._snapshot.rows is not None
        self.panel.show_tensor(resolve_tensor(self._snapshot.rows, row))
        self._show_current()

    def _show_current(self) -> None:
        at = self._items.view_row(self._row)
        selection = self._table.selectionModel()
        if at < 0:
            selection.clear()
            return
        index = self._items.index(at, NAME)
        flags = QItemSelectionModel.SelectionFlag
        selection.setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
        self._table.scrollTo(index)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the grid below the table where there is no room beside it."""
        super().resizeEvent(event)
        narrow = self.width() < NARROW_EM * self.fontMetrics().height() and self.height() > self.width()
        orientation = Qt.Orientation.Vertical if narrow else Qt.Orientation.Horizontal
        if orientation != self._splitter.orientation():
            self._splitter.setOrientation(orientation)
            self._splitter.setSizes([2000, 3000] if narrow else [1000, 1000])
            self._show_current()

    def showEvent(self, event: QShowEvent) -> None:
        """Scroll to what is selected: a table that was never laid out could not."""
        super().showEvent(event)
        self._show_current()

    # -- texts and export -------------------------------------------------------------------------

    def _show_count(self) -> None:
        rows = self._snapshot.rows
        if rows is None:
            self._count.setText("")
            return
        text = self.tr("{shown} of {all} tensors · captured at step {step}").format(
            shown=f"{self._items.rowCount():,}", all=f"{len(rows):,}", step=self._snapshot.step
        )
        if self._snapshot.stale_steps:
            text += " · " + self.tr("{count} steps ago").format(count=self._snapshot.stale_steps)
        self._count.setText(text)

    def export(self, path: Path, file_format: str) -> None:
        """Write the table as CSV (every row that passes the filter), or what is shown as a picture."""
        if file_format != "csv":
            write_picture(self, path, file_format)
            return
        write_csv(path, CSV_HEADER, (self._csv_row(int(row)) for row in self._items.shown()))

    def _csv_row(self, row: int) -> list[object]:
        rows = self._snapshot.rows
        assert rows is not None
        role = int(rows.role[row])
        return [
            rows.names[row], ROLES[role] if role < len(ROLES) else role, list(rows.sizes(row)),
            rows.text("dtype", row), list(rows.strides(row)), int(rows.offset[row]),
            f"0x{int(rows.storage[row]):x}", int(rows.numel[row] * rows.itemsize_bytes[row]),
            int(rows.storage_bytes[row]), LAYOUTS[rows.layout[row]], int(rows.share_count[row]),
            bool(rows.requires_grad[row]), rows.text("grad_fn", row),
        ]  # fmt: skip

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._items.retranslate()
            self._retranslate()
            self._show_count()

    def _retranslate(self) -> None:
        self._search.setPlaceholderText(self.tr("Find by name"))
        self._search.setAccessibleName(self.tr("Find tensors by name"))
        for box, first, names in (
            (self._role, self.tr("All roles"), self._names.roles()),
            (self._layout_box, self.tr("All layouts"), self._names.layouts()),
        ):
            at = max(0, box.currentIndex())
            box.clear()
            box.addItem(first, -1)
            for number, name in enumerate(names):
                box.addItem(name, number)
            box.setCurrentIndex(at)
        self._role.setAccessibleName(self.tr("Role"))
        self._layout_box.setAccessibleName(self.tr("Layout"))
        self._table.setAccessibleName(self.tr("Tensors of the captured step"))


CSV_HEADER = (
    "name", "role", "shape", "dtype", "stride_elems", "offset_elems", "storage", "tensor_bytes",
    "storage_bytes", "layout", "share_count", "requires_grad", "grad_fn",
)  # fmt: skip
assert len(CSV_HEADER) == COLUMNS
