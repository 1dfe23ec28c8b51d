"""The row of controls above the graph."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QLineEdit, QToolButton, QWidget

from tensorscope.models.graph_colours import BY_BYTES, BY_GRADIENT, BY_MODULE, BY_OP, BY_TIME, PLAIN


class GraphBar(QWidget):
    """What to look for, what the fill of a box shows, and how much is expanded. GUI thread."""

    search_changed = Signal(str)
    next_asked = Signal(int)
    """+1 next, -1 previous."""
    colour_chosen = Signal(int)
    more_asked = Signal()
    collapse_asked = Signal()
    fit_asked = Signal()
    play_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.search = QLineEdit(self)
        self.search.setObjectName("graphSearch")
        self.search.setClearButtonEnabled(True)
        self.search.setMinimumWidth(80)
        self.search.textChanged.connect(self.search_changed)
        self.search.returnPressed.connect(self._on_next)
        self._found = QLabel(self)
        self._colour = QComboBox(self)
        self._colour.setObjectName("graphColour")
        self._colour.currentIndexChanged.connect(self._on_colour)
        self._previous, self._next = QToolButton(self), QToolButton(self)
        self._previous.clicked.connect(self._on_previous)
        self._next.clicked.connect(self._on_next)
        self._more, self._collapse, self._fit = QToolButton(self), QToolButton(self), QToolButton(self)
        self._more.setObjectName("expandLevel")
        self._more.clicked.connect(self.more_asked)
        self._collapse.setObjectName("collapseAll")
        self._collapse.clicked.connect(self.collapse_asked)
        self._fit.clicked.connect(self.fit_asked)
        self._play = QToolButton(self)
        self._play.setObjectName("replayBackward")
        self._play.clicked.connect(self.play_asked)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 4)
        layout.addWidget(self.search, 1)
        for widget in (self._found, self._previous, self._next, self._colour, self._more, self._collapse,
                       self._fit, self._play):  # fmt: skip
            layout.addWidget(widget)
        self.show_found("")
        self.retranslate()

    @property
    def colour_by(self) -> int:
        """What is chosen."""
        return int(self._colour.currentData() or PLAIN)

    def show_found(self, text: str, several: bool = False) -> None:
        """Say what was found; the arrows are there where there is something to step through."""
        self._found.setText(text)
        self._found.setVisible(bool(text))
        self._previous.setVisible(several)
        self._next.setVisible(several)

    def show_timed(self, timed: bool) -> None:
        """Say whether there is a backward to replay."""
        self._play.setEnabled(timed)

    def focus_search(self) -> None:
        """Let the person type."""
        self.search.setFocus()
        self.search.selectAll()

    def _on_next(self) -> None:
        self.next_asked.emit(1)

    def _on_previous(self) -> None:
        self.next_asked.emit(-1)

    def _on_colour(self, index: int) -> None:
        self.colour_chosen.emit(self.colour_by)

    def retranslate(self) -> None:
        """Set every text again."""
        self.search.setPlaceholderText(self.tr("Find: name, op:addmm, param:weight, bytes>1MiB, time>1ms"))
        self.search.setToolTip(
            self.tr(
                "Words are looked for in operation, module, parameter, shape and line. op: module: param: "
                "shape: "
                "dtype: source: look in one; bytes> time> norm> compare. Enter steps through what is found."
            )
        )
        self.search.setAccessibleName(self.tr("Find in the graph"))
        at = max(0, self._colour.currentIndex())
        self._colour.blockSignals(True)
        self._colour.clear()
        for text, value in (
            (self.tr("Colour: saved bytes"), BY_BYTES),
            (self.tr("Colour: backward time"), BY_TIME),
            (self.tr("Colour: gradient norm"), BY_GRADIENT),
            (self.tr("Colour: module"), BY_MODULE),
            (self.tr("Colour: kind of operation"), BY_OP),
            (self.tr("No colour"), PLAIN),
        ):
            self._colour.addItem(text, value)
        self._colour.setCurrentIndex(at)
        self._colour.blockSignals(False)
        self._colour.setAccessibleName(self.tr("What the fill of a box shows"))
        for button, text, tip in (
            (self._previous, "◂", self.tr("Previous")),
            (self._next, "▸", self.tr("Next")),
            (self._more, self.tr("Expand"), self.tr("Expand every module that is shown by one level")),
            (self._collapse, self.tr("Collapse"), self.tr("Collapse all modules")),
            (self._fit, self.tr("Fit"), self.tr("Show all of it (F)")),
            (self._play, self.tr("Replay"), self.tr("Replay the backward of this step, node by node")),
        ):
            button.setText(text)
            button.setToolTip(tip)
            button.setAccessibleName(tip)
