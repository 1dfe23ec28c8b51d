"""The autograd graph of the deep step, collapsed by module, with what each part saved and costs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
from psygnal import SignalInstance
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QAction, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QSplitter,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from tensorscope.compute.graph_condense import CLUSTER
from tensorscope.core.whole_file import whole_file
from tensorscope.models.graph_model import (
    GraphModel,
    GraphPicture,
    GraphSnapshot,
    expanded_to,
    first_picture,
    one_level_more,
    picture_of,
)
from tensorscope.models.selection import NOTHING, Selection
from tensorscope.models.session_model import SessionModel
from tensorscope.views.capture_message import CaptureMessage
from tensorscope.views.graph.graph_canvas import GraphCanvas
from tensorscope.views.graph.graph_details import GraphDetails
from tensorscope.views.graph.graph_files import write_dot, write_graph_picture, write_items
from tensorscope.views.graph.graph_status import GraphStatus
from tensorscope.views.items.chart_theme import chart_theme
from tensorscope.views.items.newest_job import NewestJob
from tensorscope.views.session_view import SessionView


class GraphView(SessionView):
    """Flows downwards as the forward pass does: inputs at the top, the loss at the bottom."""

    view_id: ClassVar[str] = "graph"
    formats: ClassVar[tuple[str, ...]] = ("png", "svg", "csv", "dot")

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("graphView")
        self._session = SessionModel()
        self._model = GraphModel()
        self._snapshot = GraphSnapshot()
        self._expanded: frozenset[str] | None = None
        self._anchor: tuple[str, QPointF] | None = None
        self._problem = ""
        self._match = -1
        self._split_by_hand = False
        self._worker = NewestJob(self)
        self._worker.done.connect(self._on_laid_out)
        self._build()
        self._retranslate()

    def title(self) -> str:
        """Return the name of the view."""
        return self.tr("Graph")

    def _build(self) -> None:
        self._search = QLineEdit(self)
        self._search.setObjectName("graphSearch")
        self._search.setClearButtonEnabled(True)
        self._search.textChanged.connect(self._on_search)
        self._search.returnPressed.connect(self._on_next_match)
        self._found = QLabel(self)
        self._colour = QComboBox(self)
        self._colour.setObjectName("graphColour")
        self._colour.currentIndexChanged.connect(self._on_colour)
        self._more, self._collapse, self._fit = QToolButton(self), QToolButton(self), QToolButton(self)
        self._more.setObjectName("expandLevel")
        self._more.clicked.connect(self._on_more)
        self._collapse.setObjectName("collapseAll")
        self._collapse.clicked.connect(self._on_collapse_all)
        self.canvas, self.details = GraphCanvas(self), GraphDetails(self)
        self._fit.clicked.connect(self.canvas.fit)
        self._status = GraphStatus(self)
        self._message = CaptureMessage(self)
        bar = QHBoxLayout()
        bar.setContentsMargins(8, 6, 8, 4)
        for widget in (self._search, self._found, self._colour, self._more, self._collapse, self._fit):
            bar.addWidget(widget, 1 if widget is self._search else 0)
        self._splitter = QSplitter(Qt.Orientation.Horizontal, self)
        self._splitter.addWidget(self.canvas)
        self._splitter.addWidget(self.details)
        self._splitter.setStretchFactor(0, 1)
        self._splitter.splitterMoved.connect(self._on_splitter_moved)
        self._body = QWidget(self)
        body = QVBoxLayout(self._body)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(0)
        body.addLayout(bar)
        body.addWidget(self._splitter, 1)
        body.addWidget(self._status)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._body, 1)
        layout.addWidget(self._message, 1)
        canvas = self.canvas
        canvas.item_clicked.connect(self._on_item_clicked)
        canvas.chip_clicked.connect(self._on_chip_clicked)
        canvas.toggled.connect(self.expand_item)
        canvas.menu_asked.connect(self._on_menu)
        for sequence, slot in (("/", self._on_find), ("G", self._on_reveal)):
            shortcut = QShortcut(QKeySequence(sequence), canvas)
            shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
            shortcut.activated.connect(slot)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the details a quarter, until the person decides."""
        super().resizeEvent(event)
        if not self._split_by_hand:
            details = min(max(self.width() // 4, 190), 300)
            self._splitter.setSizes([max(1, self.width() - details), details])

    def _on_splitter_moved(self) -> None:
        self._split_by_hand = True

    # -- session ----------------------------------------------------------------------------------

    def set_session(self, session: SessionModel) -> None:
        """Show another session."""
        for signal, slot in self._connections():
            signal.disconnect(slot, missing_ok=True)
        self._worker.cancel()
        self._session, self._model, self._snapshot = session, GraphModel(), GraphSnapshot()
        self._expanded, self._problem = None, ""
        self.canvas.show_picture(None)
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
        )

    def refresh(self) -> None:
        """Show the newest graph at or before the current step; lay it out if it is another one."""
        before = self._snapshot.data
        self._snapshot = self._model.resolve(self._session.store, self._session.current_step)
        data = self._snapshot.data
        if data is not before:
            self._problem = ""
            if data is None or not data.count:
                self._worker.cancel()
                self.canvas.show_picture(None)
            else:
                self._ask(self._expanded)
        empty = data is None or not data.count
        self._body.setVisible(not empty)
        self._message.show_for(empty=empty, problem=self._snapshot.problem)
        self._show_status()

    def is_idle(self) -> bool:
        """Return whether no layout is under way."""
        return not self._worker.waiting

    def picture(self) -> GraphPicture | None:
        """Return what is shown."""
        return self.canvas.picture

    def _ask(self, expanded: frozenset[str] | None, anchor: tuple[str, QPointF] | None = None) -> None:
        """Lay out with `expanded` open; None: as deep as can be read at first sight."""
        data = self._snapshot.data
        if data is None:
            return
        self._anchor = anchor
        text, room = self.canvas.text_sizes(), self.canvas.readable_room()
        if expanded is None:
            self._worker.ask(partial(first_picture, data, text, room))
        else:
            self._worker.ask(partial(picture_of, data, expanded, text))
        self._show_status()

    def _on_laid_out(self, generation: int, result: object) -> None:
        if not self._worker.accept(generation):
            return
        if isinstance(result, GraphPicture):
            self._problem = ""
            first = self.canvas.picture is None
            self._expanded = result.expanded
            self.canvas.show_picture(result, None if first else self._anchor)
            self._on_search(self._search.text())
            self._on_selection(self._session.selection)
        else:
            self._problem = self.tr("The graph could not be laid out: {reason}").format(reason=result)
        self._show_status()

    # -- what the person does ---------------------------------------------------------------------

    def expand_item(self, item: int) -> None:
        """Expand a collapsed module, or collapse an expanded one."""
        picture = self.canvas.picture
        if picture is None or picture.shown.group[item] < 0:
            return
        key = picture.key(item)
        self._ask(picture.expanded ^ {key}, self.canvas.anchor(item))

    def _on_more(self) -> None:
        if self.canvas.picture is not None:
            self._ask(one_level_more(self.canvas.picture))

    def _on_collapse_all(self) -> None:
        self._ask(frozenset())

    def _on_find(self) -> None:
        self._search.setFocus()
        self._search.selectAll()

    def _on_reveal(self) -> None:
        """Open every module around the selected node."""
        picture, node = self.canvas.picture, self._selected_node()
        if picture is not None and node >= 0:
            item = picture.item_of_node(node)
            self._ask(expanded_to(picture.data, picture.expanded, node), self.canvas.anchor(item))

    def _selected_node(self) -> int:
        data, selection = self._snapshot.data, self._session.selection
        if data is None:
            return -1
        if selection.node >= 0:
            return selection.node
        node = data.node_of_param(selection.tensor.removesuffix(".grad")) if selection.tensor else -1
        return node if node >= 0 else data.node_of_storage(selection.storage)

    def _on_menu(self, item: int, at: QPoint) -> None:
        menu = self.menu_for(item)
        menu.exec(at)
        menu.deleteLater()

    def menu_for(self, item: int) -> QMenu:
        """Return the context menu of an item; -1: of the background."""
        menu, picture = QMenu(self), self.canvas.picture
        if picture is not None and item >= 0 and picture.shown.group[item] >= 0:
            self.canvas.item_clicked.emit(item)
            is_open = picture.shown.kind[item] == CLUSTER
            text = self.tr("Collapse {name}") if is_open else self.tr("Expand {name}")
            toggle = menu.addAction(text.format(name=picture.titles[item]))
            toggle.triggered.connect(self._on_toggle_selected)
            if is_open:
                menu.addAction(self.tr("Expand one level inside")).triggered.connect(self._on_more_inside)
            menu.addSeparator()
        for text, slot in (
            (self.tr("Expand one level"), self._on_more),
            (self.tr("Collapse all"), self._on_collapse_all),
            (self.tr("Fit"), self.canvas.fit),
        ):
            action = QAction(text, menu)
            action.triggered.connect(slot)
            menu.addAction(action)
        return menu

    def _on_toggle_selected(self) -> None:
        if self.canvas.marks.selected >= 0:
            self.expand_item(self.canvas.marks.selected)

    def _on_more_inside(self) -> None:
        item = self.canvas.marks.selected
        if self.canvas.picture is not None and item >= 0:
            self._ask(one_level_more(self.canvas.picture, item), self.canvas.anchor(item))

    def _on_colour(self, index: int) -> None:
        self.canvas.set_marks(colour_by=int(self._colour.itemData(index) or 0))

    def _on_search(self, text: str) -> None:
        picture = self.canvas.picture
        self._match = -1
        if picture is None or not text.strip():
            self.canvas.set_marks(matches=np.empty(0, np.int64))
            self._found.setText("")
            return
        nodes = picture.data.matching(text)
        items = np.unique([picture.item_of_node(node) for node in nodes.tolist()]).astype(np.int64)
        self.canvas.set_marks(matches=items[items >= 0])
        self._found.setText(
            self.tr("{nodes} nodes in {items} boxes").format(nodes=f"{len(nodes):,}", items=f"{len(items):,}")
            if len(nodes)
            else self.tr("nothing found")
        )

    def _on_next_match(self) -> None:
        matches = self.canvas.marks.matches
        if len(matches):
            self._match = (self._match + 1) % len(matches)
            item = int(matches[self._match])
            self._on_item_clicked(item)
            self.canvas.centre_on(item)

    # -- selection --------------------------------------------------------------------------------

    def _on_item_clicked(self, item: int) -> None:
        picture = self.canvas.picture
        if picture is None or item < 0:
            self._session.select(NOTHING)
            return
        self._show_item(item)
        self._session.select(Selection(node=picture.node(item), module=picture.module(item)))
        self._show_item(item)

    def _on_chip_clicked(self, chip: int) -> None:
        picture = self.canvas.picture
        if picture is None:
            return
        node = int(picture.chip_node[chip])
        name = picture.data.text("node_param", node)
        self._session.select(Selection(tensor=name, node=node, module=name.rpartition(".")[0] or None))

    def _on_selection(self, selection: Selection) -> None:
        picture = self.canvas.picture
        if picture is None:
            return
        shown = self.canvas.marks.selected
        if shown >= 0 and selection == Selection(node=picture.node(shown), module=picture.module(shown)):
            return
        self._show_item(picture.item_of(selection))
        node = self._selected_node()
        if node >= 0 and picture.data.is_param[node]:
            self.details.show_param(picture.data, node)

    def _show_item(self, item: int) -> None:
        picture = self.canvas.picture
        self.canvas.set_marks(selected=item)
        if picture is None or item < 0:
            self.details.show_nothing()
        else:
            self.details.show_item(picture, item)
            self.canvas.centre_on(item)

    def _on_step(self, step: int) -> None:
        if self.isVisible():
            self.refresh()

    def _on_state(self) -> None:
        self._message.refresh()

    # -- texts and export -------------------------------------------------------------------------

    def _show_status(self) -> None:
        self._status.show_facts(self._snapshot, self._worker.waiting, self._problem)

    def export(self, path: Path, file_format: str) -> None:
        """Write what is expanded: all of it as a picture, its items as CSV, or DOT text."""
        picture = self.canvas.picture
        if file_format == "csv":
            write_items(picture, path)
        elif picture is None:
            raise OSError(self.tr("no graph is shown"))
        elif file_format == "dot":
            with whole_file(path) as part, part.open("w", encoding="utf-8") as file:
                write_dot(picture, file)
        else:
            write_graph_picture(
                picture, path, file_format, chart_theme(self), self.canvas.font(), self.canvas.marks
            )

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language and the theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
            self._on_search(self._search.text())
            self._on_selection(self._session.selection)
            self._show_status()
        elif event.type() == QEvent.Type.PaletteChange:
            self.canvas.update()

    def _retranslate(self) -> None:
        self._search.setPlaceholderText(self.tr("Find by operation, module or parameter"))
        self._search.setAccessibleName(self.tr("Find in the graph"))
        at = max(0, self._colour.currentIndex())
        self._colour.clear()
        for text, value in (
            (self.tr("Colour: saved bytes"), 1),
            (self.tr("Colour: backward time"), 2),
            (self.tr("No colour"), 0),
        ):
            self._colour.addItem(text, value)
        self._colour.setCurrentIndex(at)
        self._colour.setAccessibleName(self.tr("What the fill of a box shows"))
        for button, text, tip in (
            (self._more, self.tr("Expand"), self.tr("Expand every module that is shown by one level")),
            (self._collapse, self.tr("Collapse"), self.tr("Collapse all modules")),
            (self._fit, self.tr("Fit"), self.tr("Show all of it (F)")),
        ):
            button.setText(text)
            button.setToolTip(tip)
        self.canvas.setAccessibleName(self.tr("Autograd graph, inputs at the top, loss at the bottom"))
        if self.canvas.picture is None or self.canvas.marks.selected < 0:
            self.details.show_nothing()
