"""The window of the timeline, and how the person moves it."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from tensorscope.models.memory_axis import MemoryAxis
from tensorscope.models.memory_model import MemoryModel
from tensorscope.models.memory_snapshot import MemoryIntent, MemorySnapshot
from tensorscope.models.session_store import SessionStore
from tensorscope.views.memory.memory_bar import MemoryBar
from tensorscope.views.memory.memory_chart import MemoryChart


class WindowMover(QObject):
    """Keeps what is asked of the model; the view resolves it. GUI thread."""

    dragged = Signal()
    """The window moves with the mouse: show it with the next turn of the event loop."""
    jumped = Signal()

    def __init__(self, chart: MemoryChart, bar: MemoryBar, parent: QObject) -> None:
        super().__init__(parent)
        self._chart, self._bar = chart, bar
        self.intent = MemoryIntent()
        self.snapshot: MemorySnapshot | None = None
        self.hover_x: float | None = None
        """Where the mouse is, in what the axis labels; None outside of the chart."""
        self.model = MemoryModel(SessionStore())
        chart.moved.connect(self._on_moved)
        chart.resized.connect(self.dragged)
        chart.fit_asked.connect(self._on_fit)
        chart.edge_asked.connect(self._on_edge)
        chart.peak_asked.connect(self._on_peak)
        bar.window_chosen.connect(self.show_steps)
        bar.axis_chosen.connect(self._on_fit)

    @property
    def axis(self) -> MemoryAxis:
        """The axis that is chosen."""
        return self.model.axis(self._bar.axis)

    def take(self, model: MemoryModel) -> None:
        """Begin anew with a session."""
        self.model, self.snapshot, self.hover_x = model, None, None
        self.intent = MemoryIntent(steps=self.intent.steps)

    def show_steps(self, steps: int) -> None:
        """Show the last `steps` steps, 0 for all."""
        self.intent = replace(self.intent, steps=steps, window=None)
        self.jumped.emit()

    def go_to(self, t_ns: int) -> None:
        """Bring a moment into the window, which keeps its width."""
        if self.snapshot is None:
            return
        first, last = self.snapshot.window
        x = self.axis.of_time(t_ns)
        if not first <= x <= last:
            self._centre(x)
        self.jumped.emit()

    def follow_step(self, step: int) -> bool:
        """Bring a step into a window that the person chose; return whether it was not there."""
        if self.intent.window is None:
            return False
        first, last = self.intent.window
        begin, end = self.model.window(replace(self.intent, window=None, steps=1, end_step=step))
        outside = end <= first or begin >= last
        if outside:
            start = (begin + end) // 2 - (last - first) // 2
            self.intent = replace(self.intent, window=(start, start + last - first))
        return outside

    def reach(self, pixels: int) -> int:
        """Return how many axis units some pixels are."""
        first, last = self._chart.x_range()
        return round((last - first) / self._chart.columns * pixels * self._chart.units)

    def _centre(self, x: int) -> None:
        assert self.snapshot is not None
        first, last = self.snapshot.window
        start = x - (last - first) // 2
        self.intent = replace(self.intent, window=(start, start + last - first))

    def _on_moved(self, first: float, last: float) -> None:
        units = self._chart.units
        self.intent = replace(self.intent, window=(round(first * units), round(last * units)))
        self.dragged.emit()

    def _on_fit(self) -> None:
        self.intent = replace(self.intent, window=None)
        self.jumped.emit()

    def _on_edge(self, side: int) -> None:
        if self.snapshot is None:
            return
        first, last = self.axis.span()
        span = self.snapshot.window[1] - self.snapshot.window[0]
        start = first if side < 0 else max(first, last - span)
        self.intent = replace(self.intent, window=(start, start + span))
        self.jumped.emit()

    def _on_peak(self, direction: int) -> None:
        if self.snapshot is None:
            return
        first, last = self.snapshot.window
        axis = self.axis
        here = (first + last) // 2 if self.hover_x is None else round(self.hover_x * self._chart.units)
        peak = axis.of_time(self.model.next_peak(axis.to_ns(here), direction))
        self._centre(peak)
        self.hover_x = peak / self._chart.units
        self.jumped.emit()
