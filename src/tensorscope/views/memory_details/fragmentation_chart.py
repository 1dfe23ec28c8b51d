"""Reserved, used, largest free block and pinned bytes over time."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QPen
from PySide6.QtWidgets import QWidget

from tensorscope.models.allocator_state import Fragmentation
from tensorscope.views.items.chart_axes import BytesAxis, SecondsAxis
from tensorscope.views.items.chart_plot import ChartPlot
from tensorscope.views.items.chart_theme import chart_theme, cosmetic

SERIES = ("reserved_bytes", "used_bytes", "largest_free_bytes", "pinned_bytes")
_COLOURS = {"reserved_bytes": 7, "used_bytes": 0, "largest_free_bytes": 5, "pinned_bytes": 1}


class FragmentationChart(ChartPlot):
    """One line a series; x is seconds since the session's origin."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(SecondsAxis(), BytesAxis("left"), parent)
        self.setObjectName("fragmentationChart")
        self.lines = {name: self.add(pg.PlotCurveItem(), 2) for name in SERIES}
        self.moment_line = self.add(pg.InfiniteLine(angle=90, movable=False), 5)
        self.moment_line.hide()
        self._whole = (0.0, 1.0)
        self.fit_asked.connect(self._on_fit)

    def retheme(self) -> None:
        """Take the colours of the palette."""
        theme = chart_theme(self)
        self.set_colours(theme.background, theme.text, theme.grid)
        for name, index in _COLOURS.items():
            self.lines[name].setPen(cosmetic(QPen(theme.categories[index]), 2))
        self.moment_line.setPen(cosmetic(QPen(theme.accent), 1.5))

    def show_history(self, found: Fragmentation) -> None:
        """Show the sampled states as levels."""
        if not len(found.t_ns):
            return
        x = np.repeat(found.t_ns / 1e9, 2)[1:]
        for name, line in self.lines.items():
            line.setData(x, np.repeat(getattr(found, name), 2)[:-1].astype(float))
        self._whole = float(x[0]), max(float(x[-1]), float(x[0]) + 1e-6)
        self.show_range(x=self._whole, y=(0, 1.05 * max(1, int(found.reserved_bytes.max()))))

    def show_moment(self, t_ns: int | None) -> None:
        """Mark the moment that is looked at."""
        self.moment_line.setVisible(t_ns is not None)
        if t_ns is not None:
            self.moment_line.setPos(t_ns / 1e9)

    def _on_fit(self) -> None:
        self.show_range(x=self._whole)
