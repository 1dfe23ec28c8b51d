"""Plays the backward of a step: a scrubber over its nodes, in their own time."""

from __future__ import annotations

import time

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QSlider, QToolButton, QWidget

from tensorscope.core.units import format_bytes, format_ns
from tensorscope.models.backward_replay import BackwardReplay
from tensorscope.models.graph_data import GraphData, short_name

PLAY_SECONDS = 8.0
"""How long the whole takes, however long it took; every node has its share."""
FRAME_MS = 33


class BackwardPlayer(QWidget):
    """Hidden until asked for. GUI thread."""

    moved = Signal(int)
    """How many nodes have begun at the place of the scrubber."""
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("backwardPlayer")
        self._replay: BackwardReplay | None = None
        self._data: GraphData | None = None
        self._started = 0.0
        self._from_ns = 0
        self._timer = QTimer(self)
        self._timer.setInterval(FRAME_MS)
        self._timer.timeout.connect(self._on_tick)
        self._play, self._close = QToolButton(self), QToolButton(self)
        self._play.setObjectName("playBackward")
        self._play.clicked.connect(self._on_play)
        self._close.clicked.connect(self.close_player)
        self.slider = QSlider(Qt.Orientation.Horizontal, self)
        self.slider.setObjectName("backwardScrubber")
        self.slider.valueChanged.connect(self._on_value)
        self._text = QLabel(self)
        self._text.setObjectName("backwardText")
        self._text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 2, 8, 2)
        layout.addWidget(self._play)
        layout.addWidget(self.slider, 2)
        layout.addWidget(self._text, 3)
        layout.addWidget(self._close)
        self.retranslate()
        self.hide()

    def show_replay(self, data: GraphData, replay: BackwardReplay) -> None:
        """Begin with the loss."""
        self._data, self._replay = data, replay
        self.slider.blockSignals(True)
        self.slider.setRange(0, len(replay))
        self.slider.setValue(0)
        self.slider.blockSignals(False)
        self.show()
        self._on_value(0)

    def close_player(self) -> None:
        """Show the graph as it is again."""
        self._pause()
        self._replay = self._data = None
        self.hide()
        self.closed.emit()

    def go_to(self, t_ns: int) -> None:
        """Move the scrubber to a moment of the target's clock, if it lies within this backward."""
        replay = self._replay
        if replay is None or self._timer.isActive() or self.slider.isSliderDown():
            return
        if replay.begin_ns[0] <= t_ns <= replay.end_ns.max():
            self.slider.setValue(replay.at(t_ns))

    def moment_ns(self) -> int | None:
        """Return when the node at the scrubber began, on the target's clock."""
        begun = self.slider.value()
        return int(self._replay.begin_ns[begun - 1]) if self._replay is not None and begun else None

    def _on_play(self) -> None:
        if self._timer.isActive():
            self._pause()
            return
        replay = self._replay
        if replay is None:
            return
        if self.slider.value() >= len(replay):
            self.slider.setValue(0)
        begun = self.slider.value()
        self._from_ns = int(replay.begin_ns[max(0, begun - 1)])
        self._started = time.monotonic()
        self._timer.start()
        self.retranslate()

    def _pause(self) -> None:
        self._timer.stop()
        self.retranslate()

    def _on_tick(self) -> None:
        replay = self._replay
        if replay is None:
            return
        first, last = int(replay.begin_ns[0]), int(replay.end_ns.max())
        passed = (time.monotonic() - self._started) / PLAY_SECONDS * max(1, last - first)
        self.slider.setValue(replay.at(self._from_ns + int(passed)))
        if self._from_ns + passed >= last:
            self.slider.setValue(len(replay))
            self._pause()

    def _on_value(self, begun: int) -> None:
        self._tell(begun)
        self.moved.emit(begun)

    def _tell(self, begun: int) -> None:
        replay, data = self._replay, self._data
        if replay is None or data is None:
            return
        total = self.tr("{count} nodes in {time}").format(
            count=f"{len(replay):,}", time=format_ns(float(replay.end_ns.max() - replay.begin_ns[0]))
        )
        if not begun:
            self._text.setText(self.tr("Before backward · {total}").format(total=total))
            return
        row, node = begun - 1, int(replay.node[begun - 1])
        parts = [
            f"{begun:,} / {len(replay):,}",
            f"{short_name(data.text('node_name', node))} {data.text('node_module', node)}".strip(),
            self.tr("took {time}").format(time=format_ns(float(replay.end_ns[row] - replay.begin_ns[row]))),
        ]
        if replay.freed_bytes[row] >= 0:
            so_far = int(replay.freed_bytes[:begun].clip(min=0).sum())
            parts.append(
                self.tr("freed {size}, {all} so far").format(
                    size=format_bytes(int(replay.freed_bytes[row])), all=format_bytes(so_far)
                )
            )
        if data.grad_norm is not None:
            parts.append(self.tr("gradient norm {norm}").format(norm=f"{data.grad_norm[node]:.3g}"))
        self._text.setText(" · ".join(parts))

    def retranslate(self) -> None:
        """Set every text again."""
        playing = self._timer.isActive()
        self._play.setText("⏸" if playing else "▶")
        self._play.setToolTip(self.tr("Pause") if playing else self.tr("Play"))
        self._play.setAccessibleName(self._play.toolTip())
        self._close.setText("✕")
        self._close.setToolTip(self.tr("Close the replay"))
        self._close.setAccessibleName(self._close.toolTip())
        self.slider.setAccessibleName(self.tr("Nodes of backward, in the order in which they ran"))
        self._tell(self.slider.value())
