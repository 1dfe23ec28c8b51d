"""What went wrong with the caching allocator, with its proof."""

from __future__ import annotations

from typing import Any, ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QSplitter, QVBoxLayout, QWidget

from tensorscope.models.allocator_history import AllocatorHistory
from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.verdicts import Verdict, find_verdicts
from tensorscope.views.items.rows_table import BYTES, COUNT, NUMBER, TEXT, RowsTable
from tensorscope.views.memory_details.computed_panel import ComputedPanel
from tensorscope.views.memory_details.verdict_texts import VerdictTexts


class VerdictsPanel(ComputedPanel):
    """A list; the chosen verdict's advice, numbers and lines of code below."""

    panel_id: ClassVar[str] = "verdicts"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("verdictsPanel")
        self._texts = VerdictTexts(self)
        self._chosen = 0
        self._list = RowsTable("verdicts", (TEXT, TEXT), self)
        self._list.filter.hide()
        self._list.chosen.connect(self._on_chosen)
        self._advice = QLabel(self)
        self._advice.setObjectName("verdictAdvice")
        self._advice.setWordWrap(True)
        self._advice.setMargin(8)
        self._advice.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._numbers = RowsTable("verdictNumbers", (TEXT, NUMBER), self)
        self._numbers.filter.hide()
        self._holders = RowsTable("verdictHolders", (TEXT, BYTES, COUNT), self)
        self._holders.filter.hide()
        self._show_me = QPushButton(self)
        self._show_me.setObjectName("showVerdict")
        self._show_me.clicked.connect(self._on_show)
        proof = QSplitter(Qt.Orientation.Horizontal)
        proof.setChildrenCollapsible(False)
        proof.addWidget(self._numbers)
        proof.addWidget(self._holders)
        details = QWidget(self)
        column = QVBoxLayout(details)
        column.setContentsMargins(0, 0, 0, 6)
        column.addWidget(self._advice)
        column.addWidget(proof, 1)
        column.addWidget(self._show_me, 0, Qt.AlignmentFlag.AlignRight)
        split = QSplitter(Qt.Orientation.Vertical, self.body)
        split.setChildrenCollapsible(False)
        split.addWidget(self._list)
        split.addWidget(details)
        split.setSizes([220, 480])
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(split)

    def compute(self, store: FrozenStore) -> tuple[Verdict, ...] | None:
        """Return the verdicts; None where there is no allocator to judge, or nothing is wrong."""
        history = AllocatorHistory(store)
        return find_verdicts(store, history) or None

    def missing_text(self) -> str:
        """Return that nothing is wrong, or cannot be seen."""
        store = self.session.store
        if len(store.tables["trace"]) or store.records("segments"):
            return self.tr(
                "Nothing found: no request failed, no memory was given back only to be asked for again, no "
                "block waited for another stream, and less than half of what was reserved lay idle at the "
                "end."
            )
        return self.tr(
            "Verdicts are about CUDA's caching allocator. This session has no trace of it: open a "
            "memory snapshot, "
            "or attach to a program on a CUDA device."
        )

    def show_answer(self) -> None:
        """Show the list and the chosen one."""
        answer: tuple[Verdict, ...] = self.answer
        rows: list[tuple[Any, ...]] = [(self._texts.title(v), self._texts.severity(v)) for v in answer]
        self._list.set_rows(rows)
        self._chosen = min(self._chosen, len(answer) - 1)
        verdict = answer[self._chosen]
        self._advice.setText(self._texts.advice(verdict))
        self._numbers.set_rows([*self._texts.evidence(verdict)])
        self._holders.set_rows(
            [(h.line or self.tr("Stack not recorded"), h.bytes, h.blocks) for h in verdict.holders]
        )
        self._holders.setVisible(bool(verdict.holders))

    def retranslate(self) -> None:
        """Set every text again."""
        super().retranslate()
        self._list.set_texts([self.tr("Verdict"), self.tr("Severity")], "")
        self._numbers.set_texts([self.tr("Proof"), self.tr("Value")], "")
        self._holders.set_texts([self.tr("Held by"), self.tr("Bytes"), self.tr("Blocks")], "")
        self._show_me.setText(self.tr("Show me"))
        self._show_me.setToolTip(self.tr("Look at the memory of that moment in every view"))

    def csv_table(self) -> tuple[list[str], list[list[Any]]]:
        """Return one row a number."""
        rows: list[list[Any]] = []
        for verdict in self.answer or ():
            for name, value in verdict.evidence.items():
                rows.append([verdict.code, verdict.severity, verdict.device, verdict.event, name, value])
            rows += [
                [verdict.code, verdict.severity, verdict.device, verdict.event, f"held by {h.line}", h.bytes]
                for h in verdict.holders
            ]
        return ["code", "severity", "device", "event", "what", "value"], rows

    def _on_chosen(self, row: int) -> None:
        self._chosen = row
        self.show_answer()

    def _on_show(self) -> None:
        if self.answer:
            self.session.go_to_moment(self.answer[self._chosen].t_ns)
