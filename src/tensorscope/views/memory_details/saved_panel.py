"""What each module keeps for backward, and what checkpointing it would bring."""

from __future__ import annotations

from typing import Any, ClassVar

from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from tensorscope.core.units import format_bytes
from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.saved_ledger import SavedLedger, saved_ledger
from tensorscope.models.selection import Selection
from tensorscope.views.items.rows_table import BYTES, COUNT, DELTA_BYTES, MS, PERCENT, TEXT, RowsTable
from tensorscope.views.memory_details.computed_panel import ComputedPanel

MIB = 1 << 20


class SavedPanel(ComputedPanel):
    """The ledger of the deep step by module, and a plan for a peak that the person asks for."""

    panel_id: ClassVar[str] = "saved"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("savedPanel")
        kinds = (TEXT, BYTES, PERCENT, BYTES, COUNT, BYTES, BYTES, DELTA_BYTES, MS)
        self._table = RowsTable("saved", kinds, self)
        self._table.chosen.connect(self._on_chosen)
        self._budget = QLineEdit(self)
        self._budget.setObjectName("savedBudget")
        self._budget.setMaximumWidth(self.fontMetrics().averageCharWidth() * 14)
        self._budget.textChanged.connect(self._show_plan)
        self._budget_label, self._plan = QLabel(self), QLabel(self)
        self._plan.setObjectName("savedPlan")
        self._plan.setWordWrap(True)
        row = QHBoxLayout()
        row.setContentsMargins(8, 2, 8, 6)
        row.addWidget(self._budget_label)
        row.addWidget(self._budget)
        row.addWidget(self._plan, 1)
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._table, 1)
        layout.addLayout(row)

    def compute(self, store: FrozenStore) -> SavedLedger | None:
        """Return the ledger."""
        return saved_ledger(store)

    def missing_text(self) -> str:
        """Return what is needed."""
        return self.tr(
            "No deep step has been captured: it records the graph with what each node saves. "
            "Ask for one with Deep step."
        )

    def show_answer(self) -> None:
        """Show the modules."""
        ledger: SavedLedger = self.answer
        total = max(1, ledger.saved_bytes)
        rows = []
        for row in ledger.rows:
            known = row.predicted_peak_bytes >= 0
            rows.append(
                (
                    row.module or self.tr("(whole model)"), row.saved_bytes, row.saved_bytes / total,
                    row.own_bytes, row.tensors, row.dropped_bytes if row.module and known else None,
                    row.predicted_peak_bytes if known and row.module else None,
                    row.predicted_peak_bytes - ledger.peak_bytes if known and row.module else None,
                    row.recompute_ns / 1e6 if row.recompute_ns >= 0 and row.module else None,
                )
            )  # fmt: skip
        self._table.set_rows(rows)
        text = self.tr("Step {step}: {size} saved for backward, peak {peak}. With a checkpoint: predicted.")
        self._table.heading.setText(
            text.format(
                step=ledger.step, size=format_bytes(ledger.saved_bytes),
                peak=format_bytes(max(0, ledger.peak_bytes)),
            )
        )  # fmt: skip
        self._show_plan()

    def retranslate(self) -> None:
        """Set every text again."""
        super().retranslate()
        headers = [
            self.tr("Module"), self.tr("Saved"), self.tr("Share"), self.tr("Own"), self.tr("Tensors"),
            self.tr("Checkpoint drops"), self.tr("Predicted peak"), self.tr("Difference"),
            self.tr("Forward again"),
        ]  # fmt: skip
        self._table.set_texts(headers, self.tr("Filter by module"))
        self._budget_label.setText(self.tr("Peak to reach (MiB)"))
        self._budget.setAccessibleName(self.tr("Peak to reach (MiB)"))

    def csv_table(self) -> tuple[list[str], list[list[Any]]]:
        """Return the modules."""
        header = [
            "module", "saved_bytes", "own_bytes", "tensors", "dropped_bytes", "predicted_peak_bytes",
            "recompute_ns",
        ]  # fmt: skip
        rows = self.answer.rows if self.answer is not None else ()
        return header, [
            [r.module, r.saved_bytes, r.own_bytes, r.tensors, r.dropped_bytes, r.predicted_peak_bytes,
             r.recompute_ns]
            for r in rows
        ]  # fmt: skip

    def _show_plan(self) -> None:
        text = self._budget.text().replace(",", "").strip()
        if self.answer is None or not text:
            self._plan.setText(self.tr("Which modules to checkpoint for a peak of your choice."))
            return
        try:
            budget = int(float(text) * MIB)
        except (ValueError, OverflowError):
            self._plan.setText(self.tr("{text} is not a number of MiB.").format(text=text))
            return
        chosen = self.answer.plan(budget)
        saved = sum(self.answer.peak_bytes - row.predicted_peak_bytes for row in chosen)
        if not chosen:
            enough = self.answer.peak_bytes <= budget
            self._plan.setText(
                self.tr("The peak is below that already.") if enough else self.tr("No checkpoint helps here.")
            )
            return
        names = ", ".join(row.module for row in chosen)
        spent = sum(max(0, row.recompute_ns) for row in chosen) / 1e6
        enough = self.answer.peak_bytes - saved <= budget
        text = (
            self.tr("Checkpoint {modules}: about {size} less, about {ms} ms more a step.")
            if enough
            else self.tr("Not enough, but nearest: {modules}: about {size} less, about {ms} ms more a step.")
        )
        self._plan.setText(text.format(modules=names, size=format_bytes(saved), ms=f"{spent:.1f}"))

    def _on_chosen(self, row: int) -> None:
        self.session.select(Selection(module=self.answer.rows[row].module))
