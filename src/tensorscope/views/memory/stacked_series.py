"""Which series are stacked, and their names and colours in chart, legend and list."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from tensorscope.models.grouping import CATEGORY, Grouped
from tensorscope.models.memory_model import MemoryModel
from tensorscope.models.memory_snapshot import ALL_DEVICES
from tensorscope.models.session_store import SessionStore
from tensorscope.views.items.chart_theme import chart_theme
from tensorscope.views.memory.memory_bar import MemoryBar
from tensorscope.views.memory.memory_chart import MemoryChart
from tensorscope.views.memory.memory_side import MemorySide
from tensorscope.views.memory.regrouping import Regrouping
from tensorscope.views.memory.series_names import SeriesNames


class StackedSeries(QObject):
    """Gives the model the grouping that is chosen; until it is made, the one before stays. GUI thread."""

    changed = Signal()

    def __init__(
        self, bar: MemoryBar, chart: MemoryChart, side: MemorySide, names: SeriesNames, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._bar, self._chart, self._side, self._names = bar, chart, side, names
        self._model = MemoryModel(SessionStore())
        self._regrouping = Regrouping(self)
        self._regrouping.done.connect(self._on_grouped)
        self._regrouping.due.connect(self.changed)
        bar.group_chosen.connect(self._on_group)

    @property
    def is_busy(self) -> bool:
        """Whether a grouping is being made."""
        return self._regrouping.is_busy

    def take(self, model: MemoryModel, store: SessionStore) -> None:
        """Begin anew with a session, or with another device of it."""
        self._model = model
        self._regrouping.set_store(store)

    def keep(self) -> None:
        """See to it that the grouping that is chosen will be there."""
        if self._bar.group != CATEGORY:
            device = None if self._model.device == ALL_DEVICES else self._model.device
            self._regrouping.keep(self._bar.group, device, self._bar.module_depth)

    def show(self) -> None:
        """Name and colour the series."""
        grouped, theme = self._model.grouped, chart_theme(self._chart)
        colours = list(theme.categories)
        if grouped is not None:
            colours = theme.series(len(grouped.labels), grouped.others > 0)
        heading = self._names.groups()[CATEGORY if grouped is None else grouped.group]
        names, ids = self._names.series(grouped), self._names.ids(grouped)
        order = self._model.order if grouped is not None else tuple(reversed(self._model.order))
        self._side.legend.set_series(heading, names, ids, colours, order)
        self._chart.set_series_colours(colours)
        # beside a chart of modules, a swatch of a category would be taken for a module
        self._side.blocks.set_colours(theme.categories if grouped is None else ())

    def column_names(self) -> list[str]:
        """Return the name of each series for a table."""
        grouped = self._model.grouped
        return self._names.ids(None) if grouped is None else self._names.series(grouped)

    def _on_grouped(self, grouped: Grouped) -> None:
        if self._bar.group == grouped.group:
            self._model.grouped = grouped
            self.changed.emit()

    def _on_group(self) -> None:
        if self._bar.group == CATEGORY:
            self._regrouping.cancel()
            self._model.grouped = None
        self.changed.emit()
