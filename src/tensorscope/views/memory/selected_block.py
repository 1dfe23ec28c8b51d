"""The block that is selected: found, followed until it is freed, and told about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QLabel

from tensorscope.models.block_lifetime import BlockLifetime, followed, lifetime_of_address, lifetime_of_row
from tensorscope.models.block_story import tell_block
from tensorscope.models.memory_axis import MemoryAxis
from tensorscope.models.selection import Selection
from tensorscope.models.session_model import SessionModel
from tensorscope.views.memory.block_details import BlockDetails
from tensorscope.views.memory.memory_chart import MemoryChart
from tensorscope.views.memory.memory_texts import MemoryTexts

ALWAYS = 1e9
"""Beyond either end of any axis, in what it labels."""


class SelectedBlock(QObject):
    """Writes of one block into a line, the details and the chart. GUI thread."""

    def __init__(
        self, line: QLabel, details: BlockDetails, chart: MemoryChart, texts: MemoryTexts, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._line, self._details, self._chart, self._texts = line, details, chart, texts
        self._session = SessionModel()
        self.block: BlockLifetime | None = None
        self._question = -1
        details.holders_asked.connect(self._on_holders_asked)

    def take(self, session: SessionModel) -> None:
        """Begin anew with a session."""
        self._session, self.block, self._question = session, None, -1

    @property
    def place(self) -> tuple[int, int]:
        """Address of the block and the ``alloc`` row that put it there, -1 if none is known."""
        if self.block is None:
            return 0, -1
        return self.block.address, self.block.begin.row if self.block.begin is not None else -1

    def select(self, selection: Selection, until_ns: int) -> None:
        """Find the block that `selection` means; by its address alone, the last one before `until_ns`."""
        store = self._session.store
        self.block = None
        if 0 <= selection.alloc_row < len(store.tables["alloc"]):
            self.block = lifetime_of_row(store, selection.alloc_row)
        elif selection.storage:
            self.block = lifetime_of_address(store, selection.storage, until_ns)
        self.tell()

    def follow(self) -> bool:
        """Look whether the block has been freed by now, and say so; return whether it has."""
        if self.block is None:
            return False
        block, before = followed(self._session.store, self.block), self.block
        self.block = block
        if (block.end, block.lost_t_ns) == (before.end, before.lost_t_ns):
            return False
        self.tell()
        return True

    def tell(self) -> None:
        """Write what is known of the block."""
        block, store = self.block, self._session.store
        story = tell_block(store, block) if block is not None else None
        self._details.show_block(block, story, live=self._session.state == "open")
        self.write_line()

    def write_line(self) -> None:
        """Write the line, in the language of now."""
        self._line.setText(self._texts.block(self.block, self._session.selection.storage))

    def draw(self, axis: MemoryAxis) -> None:
        """Mark the lifetime in the chart."""
        block = self.block
        if block is None:
            self._chart.show_lifetime(None)
            return
        beyond = ALWAYS * self._chart.units
        stop = block.end.t_ns if block.end else block.lost_t_ns
        times = np.array([block.begin.t_ns if block.begin else 0, max(stop, 0)])
        begin, end = axis.of_times(times).tolist()
        self._chart.show_lifetime((begin if block.begin else -beyond, end if stop >= 0 else beyond))

    def take_reply(self, meta: Mapping[str, Any]) -> None:
        """Show the program's answer, if it is the one to our question."""
        if meta.get("id") == self._question and self._question >= 0:
            self._details.show_holders(meta)

    def _on_holders_asked(self) -> None:
        if self.block is not None:
            self._question = self._session.send("holders", addresses=[self.block.address])
            self._details.show_asked()
