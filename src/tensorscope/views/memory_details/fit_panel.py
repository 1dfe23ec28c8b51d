"""What the program would have needed under other settings of the CUDA allocator."""

from __future__ import annotations

import time
from typing import ClassVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QSplitter, QStackedLayout, QVBoxLayout, QWidget

from tensorscope.compute.cancelling import Cancelled
from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.session_model import SessionModel
from tensorscope.models.what_if import what_if_table
from tensorscope.models.what_if_curves import WhatIfCurves, curves_of
from tensorscope.models.what_if_result import WhatIf, WhatIfRow
from tensorscope.views.items.newest_job import NewestJob
from tensorscope.views.memory_details.fit_bar import FitBar
from tensorscope.views.memory_details.fit_details import FitDetails
from tensorscope.views.memory_details.fit_table import FitTable
from tensorscope.views.memory_details.fit_texts import FitTexts
from tensorscope.views.memory_details.memory_panel import MemoryPanel

ASKED_ROWS = 200_000
"""Sessions with more events are compared when the person asks for it; live ones always."""
PAUSE_S = 5e-5
"""After every thousand requests or so: a loop of Python would hold up every frame otherwise."""


class FitPanel(MemoryPanel):
    """Settings in a table, the chosen one's curve over that of the recording below."""

    panel_id: ClassVar[str] = "fit"
    progressed = Signal(int, float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("fitPanel")
        self._session = SessionModel()
        self._texts = FitTexts(self)
        self._found: WhatIf | None = None
        self._curves: WhatIfCurves | None = None
        self._problem = ""
        self._tried = self._offered = False  # once a session
        self._chosen = 0
        self._job = NewestJob(self)
        self._job.done.connect(self._on_done)
        self.progressed.connect(self._on_progress)
        self._build()
        self._table.chosen.connect(self._on_chosen)
        self._bar.run_asked.connect(self._on_run)
        self._bar.cancel_asked.connect(self._on_cancel)

    def _build(self) -> None:
        self._bar = FitBar(self)
        self._honesty, self._message = QLabel(self), QLabel(self)
        self._table, self._details = FitTable(self), FitDetails(self._texts, self)
        self._table.heading.hide()
        for label, name in ((self._honesty, "fitHonesty"), (self._message, "fitMessage")):
            label.setObjectName(name)
            label.setWordWrap(True)
        self._message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._message.setMargin(24)
        split = QSplitter(Qt.Orientation.Vertical, self)
        split.setChildrenCollapsible(False)
        split.addWidget(self._table)
        split.addWidget(self._details)
        split.setSizes([380, 420])
        body = QWidget(self)
        inner = QVBoxLayout(body)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.addWidget(self._honesty)
        inner.addWidget(split, 1)
        self._honesty.setMargin(6)
        self._body = body
        self._place = QStackedLayout()
        self._place.addWidget(body)
        self._place.addWidget(self._message)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._bar)
        layout.addLayout(self._place, 1)

    # -- what the view asks ---------------------------------------------------------------------

    def set_session(self, session: SessionModel) -> None:
        """Show another session."""
        self._job.cancel()
        self._session, self._found, self._problem = session, None, ""
        self._tried = self._offered = False
        self._bar.set_running(False)
        self._bar.set_devices(())
        self._bar.clear_limit()
        self._show()

    def refresh(self) -> None:
        """Compare at once where that takes little time; otherwise wait to be asked."""
        rows = len(self._session.store.tables["alloc"])
        if not self._tried and self._session.state == "file" and 0 < rows <= ASKED_ROWS:
            self._on_run()
        elif self._found is None:
            self._show()

    def is_idle(self) -> bool:
        """Return whether nothing is being computed."""
        return not self._job.waiting

    def retranslate(self) -> None:
        """Set every text again."""
        self._bar.retranslate()
        self._table.set_texts(self._texts.headers(), "")
        self._details.retranslate()
        self._show()

    def retheme(self) -> None:
        """Take the colours of the palette."""
        self._details.chart.retheme()

    def csv_table(self) -> tuple[list[str], list[list[object]]]:
        """Return every setting with its numbers."""
        header = [
            "environment", "empty_cache_each_step", "reference", "peak_reserved_bytes", "difference_bytes",
            "peak_active_bytes", "unused_at_peak_bytes", "end_reserved_bytes", "segment_allocs", "retries",
            "limit_bytes", "fits", "start", "model",
        ]  # fmt: skip
        found = self._found
        if found is None:
            return header, []
        return header, [
            [
                self._texts.environment(row.settings), int(row.settings.empty_cache_each_step),
                int(row.is_reference), row.replay.peak_reserved_bytes, row.difference_bytes,
                row.replay.peak_active_bytes, row.replay.unused_at_peak_bytes, row.replay.end_reserved_bytes,
                row.replay.segment_allocs, row.retries, found.limit_bytes, row.fits, found.start,
                found.exactness.kind,
            ]
            for row in found.rows
        ]  # fmt: skip

    # -- work -----------------------------------------------------------------------------------

    def _on_run(self) -> None:
        self._tried = True
        store, limit = FrozenStore(self._session.store), self._bar.limit_bytes()
        device, start = self._bar.chosen_device(), self._bar.chosen_start()
        generation = self._job.generation + 1  # of the request made below

        def work(cancelled: Cancelled) -> tuple[WhatIf, WhatIfCurves | None]:
            def progress(share: float) -> None:
                self.progressed.emit(generation, share)

            def given_up() -> bool:
                time.sleep(PAUSE_S)  # the interpreter is the GUI thread's meanwhile
                return cancelled()

            found = what_if_table(
                store, limit, device=device, start=start, cancelled=given_up, progress=progress
            )
            return found, curves_of(found)

        self._job.ask(work)
        self._bar.set_running(True)
        self._show()

    def _on_cancel(self) -> None:
        self._job.cancel()
        self._bar.set_running(False)
        self._show()

    def _on_progress(self, generation: int, share: float) -> None:
        if generation == self._job.generation:
            self._bar.progress.setValue(round(1000 * share))

    def _on_done(self, generation: int, result: object) -> None:
        if not self._job.accept(generation):
            return
        self._bar.set_running(False)
        self._problem = f"{type(result).__name__}: {result}" if isinstance(result, Exception) else ""
        self._found, self._curves = result if isinstance(result, tuple) else (None, None)
        if self._found is not None:
            self._bar.set_devices(self._found.devices)
            self._bar.set_recorded_start(self._found.recorded is not None)
            self._chosen = self._best(self._found)
        self._show()
        known = None if self._found is None else self._found.recorded_limit_bytes
        if known is not None and not self._offered:
            self._offered = True
            self._bar.offer_limit(known)

    @staticmethod
    def _best(found: WhatIf) -> int:
        """Return the row to look at first: the smallest that is not the recorded setting."""
        return next((index for index, row in enumerate(found.rows) if not row.is_reference), 0)

    def _on_chosen(self, row: int) -> None:
        self._chosen = row
        self._show_row()
        chosen = self._row()
        if chosen is not None and chosen.failure is not None:
            self._session.go_to_moment(chosen.failure.t_ns)

    # -- showing --------------------------------------------------------------------------------

    def _row(self) -> WhatIfRow | None:
        rows = self._found.rows if self._found is not None else ()
        return rows[self._chosen] if self._chosen < len(rows) else None

    def _show(self) -> None:
        found = self._found
        if found is None or not found.rows:
            self._message.setText(self._missing())
            self._place.setCurrentWidget(self._message)
            return
        self._place.setCurrentWidget(self._body)
        parts = [self._texts.honesty(found), self._texts.recorded(found), *self._texts.notes(found)]
        self._honesty.setText(" ".join(part for part in parts if part))
        self._table.show_answer(found, self._texts)
        self._table.view.selectRow(self._chosen)
        self._show_row()

    def _show_row(self) -> None:
        if self._found is not None and self._row() is not None:
            sources = self._session.store.records("source")
            untimed = bool(sources) and sources[-1].meta.get("ordered") == "event"
            self._details.show_row(self._found, self._curves, self._chosen, untimed)

    def _missing(self) -> str:
        if self._job.waiting:
            return self.tr("Replaying every request under each setting …")
        if self._problem:
            return self.tr("This could not be worked out: {reason}").format(reason=self._problem)
        if not len(self._session.store.tables["alloc"]):
            return self.tr(
                "There is no history of requests to replay. Record memory from capture level scope on, or "
                "open a CUDA snapshot that was recorded with torch.cuda.memory._record_memory_history()."
            )
        return self.tr("Press Compare to replay {count} events under each setting of the allocator.").format(
            count=f"{len(self._session.store.tables['alloc']):,}"
        )
