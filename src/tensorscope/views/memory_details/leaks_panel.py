"""What each step leaves behind, and who holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from tensorscope.core.schema import CATEGORIES
from tensorscope.core.units import format_bytes
from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.selection import Selection
from tensorscope.models.session_model import SessionModel
from tensorscope.models.survivors import NOTHING, SurvivorTable, find_survivors
from tensorscope.views.items.rows_table import BYTES, COUNT, TEXT, RowsTable
from tensorscope.views.memory.holder_texts import holders_html
from tensorscope.views.memory_details.computed_panel import ComputedPanel
from tensorscope.views.names import Names


class LeaksPanel(ComputedPanel):
    """Groups of blocks that outlive their step; a live program can be asked who holds the newest."""

    panel_id: ClassVar[str] = "leaks"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("leaksPanel")
        self._names = Names(self)
        self._chosen = -1
        self._asked_id = -1
        kinds = (TEXT, TEXT, TEXT, TEXT, BYTES, BYTES, COUNT, TEXT, TEXT)
        self._table = RowsTable("leaks", kinds, self)
        self._table.chosen.connect(self._on_chosen)
        self._ask = QPushButton(self)
        self._ask.setObjectName("whoHoldsThem")
        self._ask.clicked.connect(self._on_ask)
        self._holders = QLabel(self)
        self._holders.setObjectName("leakHolders")
        self._holders.setWordWrap(True)
        self._holders.setTextFormat(Qt.TextFormat.RichText)
        self._holders.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        row = QHBoxLayout()
        row.setContentsMargins(8, 2, 8, 6)
        row.addWidget(self._holders, 1)
        row.addWidget(self._ask, 0, Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._table, 1)
        layout.addLayout(row)

    def set_session(self, session: SessionModel) -> None:
        """Show another session."""
        self.session.reply_received.disconnect(self._on_reply, missing_ok=True)
        session.reply_received.connect(self._on_reply)
        self._chosen = -1
        super().set_session(session)

    def compute(self, store: FrozenStore) -> SurvivorTable | None:
        """Return the survivors."""
        found = find_survivors(store)
        return None if found.aligned_by == NOTHING else found

    def missing_text(self) -> str:
        """Return why there is nothing to say."""
        return self.tr(
            "Leaks show between steps: at least two complete steps with memory events are needed, and eleven "
            "before a verdict."
        )

    def show_answer(self) -> None:
        """Show the groups, leaks first."""
        answer: SurvivorTable = self.answer
        categories = dict(zip(CATEGORIES, self._names.categories(), strict=True))
        self._table.set_rows(
            [
                (
                    row.line, row.module, categories[row.category],
                    self.tr("leaks") if row.growth.leaks else self.tr("stays"), row.growth.bytes_per_step,
                    row.growth.total_bytes, row.growth.blocks,
                    f"{row.growth.steps_seen}/{row.growth.steps_looked_at}",
                    f"{row.growth.first_step}–{row.growth.last_step}",
                )
                for row in answer.rows
            ]
        )  # fmt: skip
        if answer.leaks:
            text = self.tr("{count} groups leak: {size} a step (steps {first} to {last})").format(
                count=len(answer.leaks), size=format_bytes(answer.bytes_per_step),
                first=answer.first_step, last=answer.last_step,
            )  # fmt: skip
        else:
            text = self.tr(
                "Nothing leaks: what stays was made once, fills a cache, or waits (steps {first} to {last})"
            ).format(first=answer.first_step, last=answer.last_step)
        self._table.heading.setText(text)
        self._show_button()

    def _show_button(self) -> None:
        live = self.session.state == "open"
        self._ask.setEnabled(live and self._chosen >= 0)
        if not live:
            self._holders.setText(self.tr("Who holds them can be asked while the program is attached."))
        elif self._chosen < 0:
            self._holders.setText(self.tr("Choose a group to ask the program who holds it."))

    def retranslate(self) -> None:
        """Set every text again."""
        super().retranslate()
        headers = [
            self.tr("Line"), self.tr("Module"), self.tr("Category"), self.tr("Verdict"), self.tr("A step"),
            self.tr("In all"), self.tr("Blocks"), self.tr("Seen in steps"), self.tr("First–last"),
        ]  # fmt: skip
        self._table.set_texts(headers, self.tr("Filter by line, module or category"))
        self._ask.setText(self.tr("Who holds them?"))

    def csv_table(self) -> tuple[list[str], list[list[Any]]]:
        """Return the groups."""
        header = [
            "line", "module", "category", "leaks", "bytes_per_step", "total_bytes", "blocks", "steps_seen",
            "steps_looked_at", "first_step", "last_step",
        ]  # fmt: skip
        rows = self.answer.rows if self.answer is not None else ()
        return header, [
            [r.line, r.module, r.category, r.growth.leaks, r.growth.bytes_per_step, r.growth.total_bytes,
             r.growth.blocks, r.growth.steps_seen, r.growth.steps_looked_at, r.growth.first_step,
             r.growth.last_step]
            for r in rows
        ]  # fmt: skip

    def _on_chosen(self, row: int) -> None:
        self._chosen = row
        group = self.answer.rows[row]
        if group.newest:
            address, alloc_row = group.newest[0]
            self.session.select(Selection(storage=address, alloc_row=alloc_row, module=group.module or None))
        self._holders.setText("")
        self._show_button()

    def _on_ask(self) -> None:
        if self.answer is None or not 0 <= self._chosen < len(self.answer.rows):
            return
        addresses = [address for address, _ in self.answer.rows[self._chosen].newest]
        self._asked_id = self.session.send("holders", addresses=addresses)
        self._holders.setText(self.tr("Asked the program; it answers after this step."))

    def _on_reply(self, meta: Mapping[str, Any]) -> None:
        if self._asked_id >= 0 and meta.get("id") == self._asked_id:
            nothing = self.tr("Nothing that the program's objects lead to: it is gone, or C++ holds it.")
            self._holders.setText(holders_html(meta, nothing))
