"""Legend of what is stacked: names, bytes and shares; each series can be switched off."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QColor, QIcon, QPixmap
from PySide6.QtWidgets import QCheckBox, QFrame, QGridLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from tensorscope.core.units import MISSING, format_bytes

MAX_NAME_CHARS, COMPACT_NAME_CHARS = 24, 18
PEAK, PINNED, POINTED = range(3)
"""Of which moment the bytes are: the highest in view, the one all views look at, the one under the mouse."""
MAX_ROWS = 10
"""With more of them, the legend scrolls."""


class _Rows(NamedTuple):
    heading: str
    names: tuple[str, ...]
    ids: tuple[str, ...]
    colours: tuple[QColor, ...]
    order: tuple[int, ...]


class SeriesLegend(QWidget):
    """One row a series; the total below."""

    hidden_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("memoryLegend")
        self._boxes: dict[int, QCheckBox] = {}
        self._values: dict[int, tuple[QLabel, QLabel]] = {}
        self._shown: _Rows | None = None
        self._compact, self._when = False, PEAK
        self._heading = [QLabel(self) for _ in range(3)]
        self._rows = QWidget(self)
        self._grid = QGridLayout(self._rows)
        self._grid.setContentsMargins(8, 0, 8, 0)
        self._grid.setVerticalSpacing(2)
        self._total_name, self._total = QLabel(self), (QLabel(self), QLabel(self))
        scroll = QScrollArea(self)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(self._rows)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(scroll)
        self._scroll = scroll
        self.retranslate()

    def retranslate(self) -> None:
        """Set every text again; the names come with `set_series`."""
        self._total_name.setText(self.tr("Total"))
        self._moments = (self.tr("At the peak"), self.tr("Pinned"), self.tr("At mouse"))
        self._heading[1].setText(self._moments[self._when])
        self._heading[2].setText(self.tr("Share"))

    def set_series(
        self, heading: str, names: list[str], ids: list[str], colours: list[QColor], order: tuple[int, ...]
    ) -> None:
        """Show one row a series in `order`; `ids` name the rows for tests. Equal rows stay as they are."""
        rows = _Rows(heading, tuple(names), tuple(ids), tuple(colours), order)
        if rows != self._shown:
            same = self._shown is not None and self._shown.ids == rows.ids
            self._shown = rows
            self._show_rows(rows, self.hidden_series() if same else frozenset())

    def set_compact(self, compact: bool) -> None:
        """Leave out what there is no room for."""
        if compact != self._compact:
            self._compact = compact
            if self._shown is not None:
                self._show_rows(self._shown, self.hidden_series())

    def _show_rows(self, rows: _Rows, hidden: frozenset[int]) -> None:
        heading, names, ids, colours, order = rows
        self._clear()
        self._heading[0].setText(heading)
        for column, label in enumerate(self._heading):
            self._put(label, 0, column)
        for row, series in enumerate(order, 1):
            self._add_row(row, series, names[series], ids[series], colours[series], series not in hidden)
        last = len(order) + 1
        for column, label in enumerate((self._total_name, *self._total)):
            self._put(label, last, column)
        self._grid.setRowStretch(last + 1, 1)
        self._grid.setColumnStretch(0, 1)
        self._grid.setColumnMinimumWidth(1, self.fontMetrics().horizontalAdvance("At the peak "))
        share = 0 if self._compact else self.fontMetrics().horizontalAdvance("100.0 %")
        self._grid.setColumnMinimumWidth(2, share)
        self._grid.activate()
        room = self._grid.sizeHint()
        bar = self._scroll.verticalScrollBar().sizeHint().width() if last > MAX_ROWS + 1 else 0
        self._scroll.setMinimumWidth(room.width() + bar)
        self._scroll.setMinimumHeight(min(room.height(), MAX_ROWS * room.height() // (last + 1)) + 4)

    def _clear(self) -> None:
        for box in self._boxes.values():
            box.deleteLater()
        for labels in self._values.values():
            for label in labels:
                label.deleteLater()
        self._boxes, self._values = {}, {}
        while self._grid.count():
            self._grid.takeAt(0)

    def _add_row(self, row: int, series: int, name: str, id_: str, colour: QColor, shown: bool) -> None:
        most = COMPACT_NAME_CHARS if self._compact else MAX_NAME_CHARS
        short = name if len(name) <= most else "…" + name[1 - most :]
        box = QCheckBox(short.replace("&", "&&"), self._rows)
        box.setObjectName(f"memorySeries_{id_}")
        box.setToolTip(self.tr("Show or hide {category}").format(category=name))
        box.setChecked(shown)
        size = max(8, self.fontMetrics().ascent())
        swatch = QPixmap(QSize(size, size))
        swatch.fill(colour)
        box.setIcon(QIcon(swatch))
        box.setIconSize(QSize(size, size))
        box.toggled.connect(self.hidden_changed)
        self._boxes[series] = box
        self._grid.addWidget(box, row, 0)
        box.show()  # a layout counts only what is shown
        labels = QLabel(MISSING, self._rows), QLabel(MISSING, self._rows)
        self._values[series] = labels
        for column, label in enumerate(labels, 1):
            self._put(label, row, column)

    def _put(self, label: QLabel, row: int, column: int) -> None:
        label.setAlignment(
            (Qt.AlignmentFlag.AlignRight if column else Qt.AlignmentFlag.AlignLeft)
            | Qt.AlignmentFlag.AlignVCenter
        )
        self._grid.addWidget(label, row, column)
        label.setVisible(column < 2 or not self._compact)

    def set_bytes(self, series_bytes: list[int] | None, when: int = PEAK) -> None:
        """Show what is alive at that moment; None where nothing is known."""
        self._when = when
        self._heading[1].setText(self._moments[when])
        total = sum(series_bytes) if series_bytes is not None else 0
        for series, (size, share) in self._values.items():
            value = series_bytes[series] if series_bytes is not None and series < len(series_bytes) else None
            size.setText(format_bytes(value))
            share.setText(f"{100 * value / total:.1f} %" if value is not None and total > 0 else MISSING)
        self._total[0].setText(format_bytes(total) if series_bytes is not None else MISSING)
        self._total[1].setText("100 %" if total > 0 else MISSING)

    def hidden_series(self) -> frozenset[int]:
        """Return the series that are switched off."""
        return frozenset(series for series, box in self._boxes.items() if not box.isChecked())
