"""Which boxes of the graph are marked and which are faded: what is found, a way, or a replayed backward."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QObject, Signal

from tensorscope.models.backward_replay import BackwardReplay, backward_replay
from tensorscope.models.graph_filter import matching
from tensorscope.models.graph_paths import items_holding, nodes_of, reached
from tensorscope.models.session_model import SessionModel
from tensorscope.views.graph.backward_player import BackwardPlayer
from tensorscope.views.graph.graph_bar import GraphBar
from tensorscope.views.graph.graph_canvas import GraphCanvas


class GraphLights(QObject):
    """Sets the marks of the canvas. GUI thread."""

    item_found = Signal(int)

    def __init__(self, canvas: GraphCanvas, bar: GraphBar, player: BackwardPlayer, parent: QObject) -> None:
        super().__init__(parent)
        self._canvas, self._bar, self._player = canvas, bar, player
        self._session = SessionModel()
        self._replay: BackwardReplay | None = None
        self._match = -1
        bar.search_changed.connect(self._on_search)
        bar.next_asked.connect(self._on_next)
        player.moved.connect(self._on_replayed)
        player.closed.connect(self._on_closed)

    def take(self, session: SessionModel) -> None:
        """Begin anew with a session."""
        self._session = session
        self._player.close_player()

    def apply(self) -> None:
        """Mark again what is looked for, on another picture or in another language."""
        if self._replay is not None:
            self._on_replayed(self._player.slider.value())
        else:
            self._on_search(self._bar.search.text())

    def play(self) -> None:
        """Offer the replay of the backward that is shown."""
        picture = self._canvas.picture
        if picture is None:
            return
        self._replay = backward_replay(picture.data, self._session.store)
        if self._replay is not None:
            self._player.show_replay(picture.data, self._replay)

    def show_path(self, node: int, towards_loss: bool) -> None:
        """Light what leads from `node` (-1: the selected item) to the loss, or what it was made from."""
        picture, item = self._canvas.picture, self._canvas.marks.selected
        if picture is None or item < 0:
            return
        starts = np.array([node]) if node >= 0 else nodes_of(picture, item)
        items = items_holding(picture, reached(picture.data, starts, towards_loss))
        items[item] = True
        self._canvas.set_marks(path=items, lit=items)

    def clear_path(self) -> None:
        """Fade nothing, unless something is looked for."""
        self._canvas.set_marks(path=None)
        self.apply()

    def _on_search(self, text: str) -> None:
        picture = self._canvas.picture
        self._match = -1
        if picture is None or not text.strip():
            self._canvas.set_marks(matches=np.empty(0, np.int64), lit=None)
            self._bar.show_found("")
            return
        nodes = matching(picture.data, text)
        items = np.unique([picture.item_of_node(node) for node in nodes.tolist()]).astype(np.int64)
        items = items[items >= 0]
        lit = np.zeros(picture.count, bool)
        lit[items] = True
        self._canvas.set_marks(matches=items, lit=lit if len(items) else None)
        found = self.tr("{nodes} nodes in {items} boxes")
        text = found.format(nodes=f"{len(nodes):,}", items=f"{len(items):,}")
        self._bar.show_found(text if len(nodes) else self.tr("nothing found"), len(items) > 1)

    def _on_next(self, direction: int) -> None:
        matches = self._canvas.marks.matches
        if len(matches):
            self._match = (self._match + direction) % len(matches)
            self.item_found.emit(int(matches[self._match]))

    def _on_replayed(self, begun: int) -> None:
        """Fade what has run, mark what runs, and let the other views look at that moment."""
        picture = self._canvas.picture
        if picture is None or self._replay is None:
            return
        lit, now = self._replay.states(picture, begun)
        self._canvas.set_marks(lit=lit, matches=now)
        at = self._player.moment_ns()
        if at is not None:
            self._session.go_to_moment(at - self._session.store.origin_ns)

    def _on_closed(self) -> None:
        self._replay = None
        self.clear_path()
