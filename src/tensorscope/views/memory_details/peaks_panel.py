"""The highest moments of a session, and what they consist of."""

from __future__ import annotations

from typing import Any, ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from tensorscope.core.schema import CATEGORIES
from tensorscope.core.units import format_bytes
from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.peaks import DIP_SHARE, TRANSIENT_NS, Peak, Peaks, find_peaks
from tensorscope.models.selection import Selection
from tensorscope.views.items.rows_table import BYTES, COUNT, PERCENT, SECONDS, TEXT, RowsTable
from tensorscope.views.memory_details.computed_panel import ComputedPanel
from tensorscope.views.names import Names


class PeaksPanel(ComputedPanel):
    """The peaks above, the parts of the chosen one below. A peak becomes the moment that all views show."""

    panel_id: ClassVar[str] = "peaks"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("peaksPanel")
        self._names = Names(self)
        self._peak = 0
        self._peaks = RowsTable("peaks", (COUNT, BYTES, SECONDS, COUNT, TEXT), self)
        self._peaks.filter.hide()
        self._parts = RowsTable("peakParts", (TEXT, TEXT, TEXT, BYTES, PERCENT, COUNT, BYTES), self)
        self._peaks.chosen.connect(self._on_peak)
        self._parts.chosen.connect(self._on_part)
        split = QSplitter(Qt.Orientation.Vertical, self.body)
        split.setChildrenCollapsible(False)
        split.addWidget(self._peaks)
        split.addWidget(self._parts)
        split.setStretchFactor(1, 1)
        split.setSizes([170, 600])
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(split)

    def compute(self, store: FrozenStore) -> Peaks | None:
        """Return the peaks."""
        found = find_peaks(store)
        return found if found.peaks else None

    def missing_text(self) -> str:
        """Return why there are none."""
        return self.tr("No memory events are known yet. They are recorded from capture level scope on.")

    def show_answer(self) -> None:
        """Show the peaks, and the parts of the chosen one."""
        answer: Peaks = self.answer
        phases = self._names.phases()
        self._peaks.set_rows(
            [
                (number, peak.total_bytes, peak.t_ns / 1e9, peak.step, phases[min(max(peak.phase, 0), 3)])
                for number, peak in enumerate(answer.peaks, 1)
            ]
        )
        spike = answer.spike_bytes
        text = self.tr(
            "Without what lives less than {ms} ms, the highest peak would be {size} lower ({lower})."
        ).format(
            ms=f"{TRANSIENT_NS / 1e6:g}",
            size=format_bytes(spike),
            lower=format_bytes(answer.without_transients_bytes),
        )
        dip = self.tr("Peaks between which the total falls by at least {share} % of the highest.").format(
            share=f"{100 * DIP_SHARE:g}"
        )
        self._peaks.heading.setText(f"{dip} {text}")
        self._peak = min(self._peak, len(answer.peaks) - 1)
        self._show_parts(answer.peaks[self._peak])

    def _show_parts(self, peak: Peak) -> None:
        categories = dict(zip(CATEGORIES, self._names.categories(), strict=True))
        total = max(1, peak.total_bytes)
        self._parts.set_rows(
            [
                (
                    part.line, categories[part.category], part.module, part.bytes, part.bytes / total,
                    part.count, part.transient_bytes,
                )
                for part in peak.parts
            ]
        )  # fmt: skip
        text = self.tr("Alive at peak {number}: {size} in {count} blocks")
        blocks = sum(part.count for part in peak.parts)
        self._parts.heading.setText(
            text.format(number=self._peak + 1, size=format_bytes(peak.total_bytes), count=f"{blocks:,}")
        )

    def retranslate(self) -> None:
        """Set every text again."""
        super().retranslate()
        self._peaks.set_texts(
            [self.tr("Peak"), self.tr("Live bytes"), self.tr("Time"), self.tr("Step"), self.tr("Phase")], ""
        )
        headers = [
            self.tr("Line"), self.tr("Category"), self.tr("Module"), self.tr("Bytes"), self.tr("Share"),
            self.tr("Blocks"), self.tr("Momentary"),
        ]  # fmt: skip
        self._parts.set_texts(headers, self.tr("Filter by line, category or module"))

    def csv_table(self) -> tuple[list[str], list[list[Any]]]:
        """Return the parts of every peak."""
        header = [
            "peak", "t_s", "step", "total_bytes", "category", "module", "line", "bytes", "blocks",
            "transient_bytes",
        ]  # fmt: skip
        peaks = self.answer.peaks if self.answer is not None else ()
        rows = [
            [number, peak.t_ns / 1e9, peak.step, peak.total_bytes, part.category, part.module, part.line,
             part.bytes, part.count, part.transient_bytes]
            for number, peak in enumerate(peaks, 1)
            for part in peak.parts
        ]  # fmt: skip
        return header, rows

    def _on_peak(self, row: int) -> None:
        self._peak = row
        peak: Peak = self.answer.peaks[row]
        self._show_parts(peak)
        self.session.go_to_moment(peak.t_ns)

    def _on_part(self, row: int) -> None:
        part = self.answer.peaks[self._peak].parts[row]
        self.session.select(Selection(storage=part.address, alloc_row=part.row, module=part.module or None))
