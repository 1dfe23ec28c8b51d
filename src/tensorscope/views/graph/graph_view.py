"""The autograd graph of the deep step, collapsed by module, with what each part saved and costs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ClassVar

from psygnal import SignalInstance
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QAction, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QMenu, QSplitter, QVBoxLayout, QWidget

from tensorscope.compute.graph_condense import CLUSTER
from tensorscope.core.whole_file import whole_file
from tensorscope.models.graph_expansion import expanded_by, expanded_to, first_picture, one_level_more
from tensorscope.models.graph_model import GraphModel, GraphPicture, GraphSnapshot, picture_of
from tensorscope.models.selection import NOTHING, Selection
from tensorscope.models.session_model import SessionModel
from tensorscope.views.capture_message import CaptureMessage
from tensorscope.views.graph.backward_player import BackwardPlayer
from tensorscope.views.graph.graph_bar import GraphBar
from tensorscope.views.graph.graph_canvas import GraphCanvas
from tensorscope.views.graph.graph_details import GraphDetails
from tensorscope.views.graph.graph_files import write_dot, write_graph_picture, write_items, write_json
from tensorscope.views.graph.graph_legend import GraphLegend
from tensorscope.views.graph.graph_lights import GraphLights
from tensorscope.views.graph.graph_status import GraphStatus
from tensorscope.views.items.chart_theme import chart_theme
from tensorscope.views.items.newest_job import NewestJob
from tensorscope.views.session_view import SessionView


class GraphView(SessionView):
    """Flows downwards as the forward pass does: inputs at the top, the loss at the bottom."""

    view_id: ClassVar[str] = "graph"
    formats: ClassVar[tuple[str, ...]] = ("png", "svg", "pdf", "csv", "dot", "json")

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("graphView")
        self._session = SessionModel()
        self._model = GraphModel()
        self._snapshot = GraphSnapshot()
        self._expanded: frozenset[str] | None = None
        self._anchor: tuple[str, QPointF] | None = None
        self._problem = ""
        self._split_by_hand = False
        self._worker = NewestJob(self)
        self._worker.done.connect(self._on_laid_out)
        self._build()
        self._retranslate()

    def title(self) -> str:
        """Return the name of the view."""
        return self.tr("Graph")

    def _build(self) -> None:
        self._bar = GraphBar(self)
        self.canvas, self.details = GraphCanvas(self), GraphDetails(self)
        self._status, self._legend, self._player = GraphStatus(self), GraphLegend(self), BackwardPlayer(self)
        self._message = CaptureMessage(self)
        self._lights = GraphLights(self.canvas, self._bar, self._player, self)
        self._splitter = QSplitter(Qt.Orientation.Horizontal, self)
        self._splitter.addWidget(self.canvas)
        self._splitter.addWidget(self.details)
        self._splitter.setStretchFactor(0, 1)
        self._splitter.splitterMoved.connect(self._on_splitter_moved)
        self._body = QWidget(self)
        body = QVBoxLayout(self._body)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(0)
        body.addWidget(self._bar)
        body.addWidget(self._splitter, 1)
        body.addWidget(self._player)
        foot = QHBoxLayout()
        foot.setSpacing(0)
        foot.addWidget(self._status, 1)
        foot.addWidget(self._legend)
        body.addLayout(foot)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._body, 1)
        layout.addWidget(self._message, 1)
        self._connect()

    def _connect(self) -> None:
        bar, canvas = self._bar, self.canvas
        for signal, slot in (
            (bar.colour_chosen, self._on_colour), (bar.more_asked, self._on_more),
            (bar.collapse_asked, self._on_collapse_all), (bar.fit_asked, canvas.fit),
            (bar.play_asked, self._lights.play), (canvas.item_clicked, self._on_item_clicked),
            (canvas.chip_clicked, self._on_chip_clicked), (canvas.toggled, self.expand_item),
            (canvas.menu_asked, self._on_menu), (self._lights.item_found, self._on_item_found),
        ):  # fmt: skip
            signal.connect(slot)
        for sequence, slot in (
            ("/", bar.focus_search), ("G", self._on_reveal), ("L", self._on_path_to_loss),
            ("I", self._on_path_to_inputs), ("Escape", self._lights.clear_path),
        ):  # fmt: skip
            shortcut = QShortcut(QKeySequence(sequence), canvas)
            shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
            shortcut.activated.connect(slot)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the details a quarter, until the person decides."""
        super().resizeEvent(event)
        if not self._split_by_hand:
            details = min(max(self.width() // 4, 190), 300)
            self._splitter.setSizes([max(1, self.width() - details), details])
        self._give_legend_room()

    def _give_legend_room(self) -> None:
        """Show the legend where it leaves the facts whole."""
        wanted = self._status.sizeHint().width() + self._legend.sizeHint().width()
        self._legend.setVisible(wanted <= self.width())

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
        self._lights.take(session)
        self._message.set_session(session)
        self.refresh()

    def _connections(self) -> tuple[tuple[SignalInstance, Callable[..., None]], ...]:
        session = self._session
        return (
            (session.step_changed, self._on_step),
            (session.selection_changed, self._on_selection),
            (session.state_changed, self._on_state),
            (session.moment_changed, self._on_moment),
        )

    def refresh(self) -> None:
        """Show the newest graph at or before the current step; lay it out if it is another one."""
        before = self._snapshot.data
        self._snapshot = self._model.resolve(self._session.store, self._session.current_step)
        data = self._snapshot.data
        if data is not before:
            self._problem = ""
            self._player.close_player()
            self._bar.show_timed(data is not None and data.timed)
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
            self._lights.apply()
            self._on_colour(self._bar.colour_by)
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

    def expand(self, what: str) -> None:
        """Open ``all``, ``none``, ``depth:N`` or a module by its path; raise `DataError` if there is none."""
        if self._snapshot.data is not None:
            self._ask(expanded_by(self._snapshot.data, what))

    def _on_more(self) -> None:
        if self.canvas.picture is not None:
            self._ask(one_level_more(self.canvas.picture))

    def _on_collapse_all(self) -> None:
        self._ask(frozenset())

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
        if picture is not None and item >= 0:
            self.canvas.item_clicked.emit(item)
            menu.addAction(self.tr("Show the way to the loss (L)")).triggered.connect(self._on_path_to_loss)
            made = menu.addAction(self.tr("Show what it was made from (I)"))
            made.triggered.connect(self._on_path_to_inputs)
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

    def _on_colour(self, colour_by: int) -> None:
        self.canvas.set_marks(colour_by=colour_by)
        picture = self.canvas.picture
        fills = None if picture is None else self.canvas.painter.fills(picture, colour_by)
        self._legend.show_fills(fills, colour_by)
        self._give_legend_room()

    def _on_path_to_loss(self) -> None:
        self._lights.show_path(self._selected_node(), towards_loss=True)

    def _on_path_to_inputs(self) -> None:
        self._lights.show_path(self._selected_node(), towards_loss=False)

    def _on_moment(self, moment_ns: int | None) -> None:
        if moment_ns is not None:
            self._player.go_to(moment_ns + self._session.store.origin_ns)

    # -- selection --------------------------------------------------------------------------------

    def _on_item_clicked(self, item: int) -> None:
        picture = self.canvas.picture
        if picture is None or item < 0:
            self._session.select(NOTHING)
            return
        self._show_item(item)
        self._session.select(Selection(node=picture.node(item), module=picture.module(item)))
        self._show_item(item)

    def _on_item_found(self, item: int) -> None:
        self._on_item_clicked(item)
        self.canvas.centre_on(item)

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
        self._give_legend_room()

    def export(self, path: Path, file_format: str) -> None:
        """Write what is expanded: as a picture, its items as CSV, as DOT text, or every node as JSON."""
        picture = self.canvas.picture
        if file_format == "csv":
            write_items(picture, path)
        elif picture is None:
            raise OSError(self.tr("no graph is shown"))
        elif file_format in ("dot", "json"):
            with whole_file(path) as part, part.open("w", encoding="utf-8") as file:
                (write_dot if file_format == "dot" else write_json)(picture, file)
        else:
            write_graph_picture(
                picture, path, file_format, chart_theme(self), self.canvas.font(), self.canvas.marks
            )

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language and the theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
            self._lights.apply()
            self._on_colour(self._bar.colour_by)
            self._on_selection(self._session.selection)
            self._show_status()
        elif event.type() == QEvent.Type.PaletteChange:
            self.canvas.update()
            self._on_colour(self._bar.colour_by)

    def _retranslate(self) -> None:
        self._bar.retranslate()
        self._player.retranslate()
        self.canvas.setAccessibleName(self.tr("Autograd graph, inputs at the top, loss at the bottom"))
        if self.canvas.picture is None or self.canvas.marks.selected < 0:
            self.details.show_nothing()
