"""The session beside another file, or beside itself with other toggles on."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QFileDialog, QHBoxLayout, QLabel, QSplitter, QVBoxLayout, QWidget

from tensorscope.compute.session_diff import Difference
from tensorscope.core.errors import TensorScopeError
from tensorscope.core.schema import CATEGORIES
from tensorscope.models.comparison import Comparison, Side, compare, variants_of
from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.session_loading import load_session
from tensorscope.models.session_model import SessionModel
from tensorscope.models.session_store import SessionStore
from tensorscope.views.items.chart_theme import chart_theme
from tensorscope.views.items.newest_job import NewestJob
from tensorscope.views.items.rows_table import NUMBER, TEXT, RowsTable, cell_text
from tensorscope.views.memory_details.compare_chart import CompareChart
from tensorscope.views.memory_details.computed_panel import ComputedPanel
from tensorscope.views.names import Names

WHOLE, FILE = "whole", "file"


class ComparePanel(ComputedPanel):
    """A and B are chosen above; curves and differences below. Files are read off the GUI thread."""

    panel_id: ClassVar[str] = "compare"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("comparePanel")
        self._names = Names(self)
        self._files: dict[str, SessionStore] = {}
        self._picked = False
        """Whether the person has chosen a side; until then, toggle states are offered."""
        self._loading = NewestJob(self)
        self._loading.done.connect(self._on_loaded)
        self._boxes = [QComboBox(self), QComboBox(self)]
        for name, box in zip("AB", self._boxes, strict=True):
            box.setObjectName(f"compare{name}")
            box.activated.connect(self._on_chosen)
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContentsOnFirstShow)
        self._labels = [QLabel(self), QLabel(self)]
        self._chart = CompareChart(self)
        self._table = RowsTable("compare", (TEXT, NUMBER, NUMBER, NUMBER, NUMBER, TEXT), self)
        split = QSplitter(Qt.Orientation.Vertical, self.body)
        split.setChildrenCollapsible(False)
        split.addWidget(self._chart)
        split.addWidget(self._table)
        split.setSizes([300, 420])
        bar = QHBoxLayout()
        bar.setContentsMargins(8, 4, 8, 2)
        for label, box in zip(self._labels, self._boxes, strict=True):
            bar.addWidget(label)
            bar.addWidget(box, 1)
        body = QVBoxLayout(self.body)
        body.setContentsMargins(0, 0, 0, 0)
        body.addWidget(split)
        outer = self.layout()
        assert isinstance(outer, QVBoxLayout)
        outer.insertLayout(0, bar)

    # -- what is compared -----------------------------------------------------------------------

    def set_session(self, session: SessionModel) -> None:
        """Show another session; files that were read stay on offer."""
        self._picked = False
        super().set_session(session)
        self._fill()

    def refresh(self) -> None:
        """Offer new toggle states, then compare anew where a side has grown."""
        self._fill()
        super().refresh()

    def key(self) -> tuple[object, ...]:
        """Return both choices."""
        return tuple(box.currentData() for box in self._boxes)

    def compute(self, store: FrozenStore) -> Comparison | None:
        """Compare; None while two sides have not been chosen."""
        chosen = self._asked[:2] if self._asked else ()
        if len(chosen) < 2 or chosen[0] == chosen[1] or None in chosen or FILE in chosen:
            return None
        if not len(self.session.store.tables["alloc"]):
            return None
        return compare(*(self._side(str(one)) for one in chosen))

    def _side(self, choice: str) -> Side:
        if choice.startswith("file:"):
            path = choice.removeprefix("file:")
            return Side(self._files[path], Path(path).name)
        if choice == WHOLE:
            return Side(self.session.store, self.session.title or "session")
        variant = choice.removeprefix("variant:")
        return Side(self.session.store, self._names.variant(variant), variant)

    def _choices(self) -> list[tuple[str, str]]:
        found = [(WHOLE, self.tr("this session"))]
        variants = variants_of(self.session.store)
        if len(variants) > 1:
            found += [
                (f"variant:{v}", self.tr("steps with: {name}").format(name=self._names.variant(v)))
                for v in variants
            ]
        found += [(f"file:{path}", Path(path).name) for path in self._files]
        return [*found, (FILE, self.tr("a file …"))]

    def _fill(self) -> None:
        choices = self._choices()
        for box in self._boxes:
            if [box.itemData(i) for i in range(box.count())] == [key for key, _ in choices]:
                continue
            chosen = box.currentData()
            box.clear()
            for key, text in choices:
                box.addItem(text, key)
            box.setCurrentIndex(max(0, box.findData(chosen)))
        if not self._picked and len(variants_of(self.session.store)) > 1:
            for number, box in enumerate(self._boxes):
                box.setCurrentIndex(1 + number)  # the first two toggle states

    def _on_chosen(self) -> None:
        self._picked = True
        if FILE in self.key():
            kinds = self.tr(
                "Sessions, snapshots and traces (*.tscope *.pickle *.pkl *.json *.gz);;All files (*)"
            )
            path, _ = QFileDialog.getOpenFileName(self, self.tr("Compare with"), "", kinds)
            if path:
                self.load(Path(path))
            else:
                self._choose_instead(WHOLE)
            return
        self.refresh()

    def load(self, path: Path) -> None:
        """Read a file to compare with."""
        self._picked = True
        self.message.setText(self.tr("Reading {name} …").format(name=path.name))
        self._loading.ask(lambda cancelled: (str(path), load_session(path).store))

    def _on_loaded(self, generation: int, result: Any) -> None:
        if not self._loading.accept(generation):
            return
        if isinstance(result, Exception):
            self._choose_instead(WHOLE)
            reason = str(result) if isinstance(result, TensorScopeError) else repr(result)
            self.answer, self._problem = None, reason
            self._show()
            return
        path, store = result
        self._files[path] = store
        self._fill()
        if FILE not in self.key():
            self._boxes[1].setCurrentIndex(self._boxes[1].findData(f"file:{path}"))
        self._choose_instead(f"file:{path}")
        self.refresh()

    def _choose_instead(self, choice: str) -> None:
        for box in self._boxes:
            if box.currentData() == FILE:
                box.setCurrentIndex(max(0, box.findData(choice)))

    def is_idle(self) -> bool:
        """Return whether nothing is read or computed."""
        return super().is_idle() and not self._loading.waiting

    # -- what is shown --------------------------------------------------------------------------

    def missing_text(self) -> str:
        """Return what to choose."""
        return self.tr(
            "Choose two sides above: this session, a toggle state that ran in it, or a file "
            "(session, memory snapshot or trace)."
        )

    def show_answer(self) -> None:
        """Show curves and differences."""
        found: Comparison = self.answer
        self._chart.show_comparison(found)
        text = self.tr(
            "A: {a}, {n} steps · B: {b}, {m} steps · left out for warm-up or a deep step: {k} and {l}"
        )
        self._table.heading.setText(
            text.format(
                a=found.name_a, n=found.steps_a, b=found.name_b, m=found.steps_b, k=found.left_out_a,
                l=found.left_out_b,
            )
        )  # fmt: skip
        rows = [
            self._row(self._total_name(one.name), one) for one in found.totals if math.isfinite(one.a + one.b)
        ]
        categories = dict(zip(CATEGORIES, self._names.categories(), strict=True))
        rows += [self._row(categories[one.name], one) for one in found.categories if one.a or one.b]
        rows += [self._row(one.name, one) for one in found.modules if one.delta]
        self._table.set_rows(rows)

    def _total_name(self, name: str) -> str:
        names = {
            "step_ms": self.tr("Step time"), "peak_bytes": self.tr("Peak of the step"),
            "end_bytes": self.tr("Live at step end"), "growth_bytes_per_step": self.tr("Growth a step"),
            "reserved_bytes": self.tr("Reserved"), "reserved_ratio": self.tr("Reserved over peak"),
        }  # fmt: skip
        return names[name]

    def _row(self, name: str, one: Difference) -> tuple[str, ...]:
        kind = "ms" if one.name == "step_ms" else "plain" if one.name == "reserved_ratio" else "bytes"

        def text(value: float, signed: bool = False) -> str:
            if not math.isfinite(value):
                return cell_text(TEXT, None)
            if kind == "bytes":
                return cell_text("delta_bytes" if signed or value < 0 else "bytes", value)
            plain = f"{value:,.2f} ms" if kind == "ms" else f"{value:.3f}"
            return f"+{plain}" if signed and value > 0 else plain

        ratio = (
            f"{100 * (one.ratio - 1):+.1f} %".replace("-", "−")
            if math.isfinite(one.ratio)
            else cell_text(TEXT, None)
        )
        chance = "" if one.is_real or not one.delta else self.tr("within noise")
        return name, text(one.a), text(one.b), text(one.delta, signed=True), ratio, chance or " "

    def retranslate(self) -> None:
        """Set every text again."""
        super().retranslate()
        headers = ["", "A", "B", self.tr("B − A"), self.tr("Change"), self.tr("Certainty")]
        self._table.set_texts(headers, self.tr("Filter by name"))
        phases = self._names.phases()
        self._chart.phase_axis.names = phases[1:]
        self._chart.getPlotItem().setLabel("left", self.tr("Live allocator bytes"))
        self._label()
        self._fill()

    def _label(self) -> None:
        colours = chart_theme(self).categories
        for label, name, index, sign in zip(self._labels, "AB", (0, 1), ("━", "╍"), strict=True):
            label.setText(f'<span style="color:{colours[index].name()}">{sign}</span> {name}')

    def retheme(self) -> None:
        """Take the colours of the palette."""
        self._chart.retheme()
        self._label()

    def csv_table(self) -> tuple[list[str], list[list[Any]]]:
        """Return the differences as numbers."""
        header = ["what", "a", "b", "difference", "noise"]
        if self.answer is None:
            return header, []
        found: Comparison = self.answer
        every = (*found.totals, *found.categories, *found.modules)
        return header, [[one.name, one.a, one.b, one.delta, one.noise] for one in every]
