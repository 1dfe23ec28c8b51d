"""What was alive at the moment looked at: under the mouse, pinned, or at the peak in view."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QLabel

from tensorscope.models.memory_marks import MemoryMarks
from tensorscope.models.session_model import SessionModel
from tensorscope.views.memory.memory_bar import MemoryBar
from tensorscope.views.memory.memory_chart import MemoryChart
from tensorscope.views.memory.memory_side import MemorySide
from tensorscope.views.memory.memory_texts import MemoryTexts
from tensorscope.views.memory.selected_block import SelectedBlock
from tensorscope.views.memory.series_legend import PEAK, PINNED, POINTED
from tensorscope.views.memory.window_mover import WindowMover

REACH_PX = 4


class MomentReadout(QObject):
    """Writes into the line above the chart, the legend and the list of blocks. GUI thread."""

    def __init__(
        self, line: QLabel, chart: MemoryChart, bar: MemoryBar, side: MemorySide, mover: WindowMover,
        selected: SelectedBlock, texts: MemoryTexts, parent: QObject,
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self._line, self._chart, self._bar, self._side = line, chart, bar, side
        self._mover, self._selected, self._texts = mover, selected, texts
        self._session = SessionModel()
        self._marks = MemoryMarks(self._session.store)
        self.note = ""
        """What the line says instead of a summary, as long as the mouse points at nothing."""
        self.listed = False
        """Whether blocks were listed since the session came."""

    def take(self, session: SessionModel, marks: MemoryMarks) -> None:
        """Begin anew with a session."""
        self._session, self._marks, self.listed = session, marks, False

    def event_at(self, x: float, y: float) -> int:
        """Return the ``alloc`` row of the event at a point of the chart, -1 if there is none."""
        series = self._chart.series_at(x, y)
        reach = self._mover.reach(REACH_PX)
        return self._mover.model.event_near(round(x * self._chart.units), reach, series, self._bar.axis)

    def point_at(self, x: float, y: float) -> None:
        """Tell of what is under the mouse, and of the event there if the point lies within a series."""
        self._mover.hover_x = x
        row = self.event_at(x, y) if self._chart.series_at(x, y) >= 0 else -1
        self.write(row)

    def write(self, row: int = -1) -> None:
        """Write of the moment under the mouse, and of an event; without a mouse, of the one looked at."""
        if self._mover.snapshot is None:
            return
        self._chart.show_cursor(self._mover.hover_x)
        if self._mover.hover_x is None:
            self._write_looked_at()
            return
        axis, x = self._mover.axis, round(self._mover.hover_x * self._chart.units)
        moment = self._mover.model.moment(axis.to_ns(x), axis.point_at(x))
        text = self._texts.moment(moment)
        mark = self._marks.near(axis, x, self._mover.reach(REACH_PX), self._bar.marks)
        if mark is not None:
            text += " · " + self._texts.mark(self._session.store, *mark)
        elif row >= 0:
            text += " · " + self._texts.allocation(self._session.store, row)
        self._line.setText(text)
        self._side.legend.set_bytes(None if moment is None else list(moment.series_bytes), POINTED)

    def _write_looked_at(self) -> None:
        assert self._mover.snapshot is not None
        at_ns, at_peak = self._looked_at()
        mismatch = self._mover.model.mismatch_bytes
        summary = self._texts.summary(self._mover.snapshot, mismatch, at_ns, at_peak)
        self._line.setText(self.note or summary)
        moment = self._mover.model.moment(at_ns)
        when = PEAK if at_peak else PINNED
        self._side.legend.set_bytes(None if moment is None else list(moment.series_bytes), when)

    def list_blocks(self) -> None:
        """List what is alive at the moment that is looked at."""
        if self._mover.snapshot is None:
            return
        self.listed = True
        at_ns, at_peak = self._looked_at()
        blocks, count = self._mover.model.largest_blocks(at_ns)
        heading = self._texts.blocks_heading(at_ns, at_peak, count)
        self._side.blocks.set_blocks(heading, blocks, self._selected.place)

    def _looked_at(self) -> tuple[int, bool]:
        """Return the pinned moment where it is in view, else the peak in view, and whether it is that."""
        assert self._mover.snapshot is not None
        moment, (first, last) = self._session.moment_ns, self._mover.snapshot.window
        if moment is not None and first <= self._mover.axis.of_time(moment) <= last:
            return moment, False
        return self._mover.snapshot.peak_t_ns, True
