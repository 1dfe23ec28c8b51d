"""Lab: switch an optimisation in the running program, and see honestly what it changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from psygnal import SignalInstance
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QSplitter,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from tensorscope.compute.robust_stats import Interval
from tensorscope.models.ab_run import DONE, FAILED, STOPPED, AbRun
from tensorscope.models.lab_model import LabIntent, LabSnapshot, resolve
from tensorscope.models.session_model import SessionModel
from tensorscope.models.toggles_model import TogglesModel
from tensorscope.views.csv_file import write_csv
from tensorscope.views.items.chart_theme import chart_theme
from tensorscope.views.lab.lab_chart import SYMBOLS, LabChart
from tensorscope.views.lab.toggle_row import ToggleRow
from tensorscope.views.lab.variant_item_model import VariantItemModel
from tensorscope.views.names import Names
from tensorscope.views.picture import write_picture
from tensorscope.views.session_view import SessionView


class LabView(SessionView):
    """Toggles on the left; comparison and raw samples on the right."""

    view_id: ClassVar[str] = "lab"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("labView")
        self._names = Names(self)
        self._session = SessionModel()
        self._toggles = TogglesModel(self._session)
        self._run: AbRun | None = None
        self._intent = LabIntent()
        self._snapshot: LabSnapshot | None = None
        self._rows: dict[str, ToggleRow] = {}
        self._asked = False
        self._build()
        self._retheme()
        self._retranslate()

    def _build(self) -> None:
        splitter = QSplitter(Qt.Orientation.Horizontal, self)
        splitter.addWidget(self._build_left())
        splitter.addWidget(self._build_right())
        splitter.setStretchFactor(0, 1)
        splitter.setStretchFactor(1, 3)
        splitter.setChildrenCollapsible(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(splitter)

    def _build_left(self) -> QWidget:
        self._message = _label(self, "labMessage")
        self._list = QVBoxLayout()
        self._steps_per_block, self._pairs = QSpinBox(self), QSpinBox(self)
        self._steps_name, self._pairs_name = QLabel(self), QLabel(self)
        for spin, name, value in (
            (self._steps_per_block, "labStepsPerBlock", 8),
            (self._pairs, "labPairs", 8),
        ):
            spin.setObjectName(name)
            spin.setRange(3, 500)
            spin.setValue(value)
        self._progress = QProgressBar(self)
        self._progress.setObjectName("labProgress")
        self._stop = QPushButton(self)
        self._stop.setObjectName("labStop")
        self._stop.clicked.connect(self._on_stop)
        self._run_note = _label(self, "labRunNote")
        inner = QWidget(self)
        column = QVBoxLayout(inner)
        column.addWidget(self._message)
        column.addLayout(self._list)
        for label, spin in (
            (self._steps_name, self._steps_per_block),
            (self._pairs_name, self._pairs),
        ):
            row = QHBoxLayout()
            row.addWidget(label, 1)
            row.addWidget(spin)
            label.setBuddy(spin)
            column.addLayout(row)
        for widget in (self._progress, self._stop, self._run_note):
            column.addWidget(widget)
        column.addStretch(1)
        scroll = QScrollArea(self)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(inner)
        scroll.setMinimumWidth(14 * self.fontMetrics().height())
        return scroll

    def _build_right(self) -> QWidget:
        self._range = QComboBox(self)
        self._range.setObjectName("labRange")
        self._range.activated.connect(self._on_range)
        self._item_model = VariantItemModel(self._names, self)
        self._table = QTableView(self)
        self._table.setObjectName("labTable")
        self._table.setModel(self._item_model)
        self._table.verticalHeader().hide()
        self._table.setSelectionMode(QTableView.SelectionMode.NoSelection)
        self._table.setEditTriggers(QTableView.EditTrigger.NoEditTriggers)
        self._table.setWordWrap(False)
        header = self._table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)  # a handful of rows
        header.setStretchLastSection(True)
        self._note = _label(self, "labNote")
        self._chart = LabChart(self)
        self._chart.setMouseEnabled(x=False, y=False)
        self._chart.clicked.connect(self._on_clicked)
        right = QWidget(self)
        column = QVBoxLayout(right)
        column.addWidget(self._range, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self._table)
        column.addWidget(self._note)
        column.addWidget(self._chart, 1)
        return right

    # -- what the window asks -------------------------------------------------------------------

    def title(self) -> str:
        """Return the translated name of the view."""
        return self.tr("Lab")

    def set_session(self, session: SessionModel) -> None:
        """Show another session; an A/B run of the one before is stopped."""
        if self._run is not None:
            self._run.stop()
        for signal, slot in self._connections():
            signal.disconnect(slot, missing_ok=True)
        self._session, self._run = session, None
        self._toggles = TogglesModel(session)
        self._intent, self._asked = LabIntent(), False
        for signal, slot in self._connections():
            signal.connect(slot)
        for row in self._rows.values():
            row.deleteLater()
        self._rows = {}
        self._ask()
        self._show_toggles()
        self.refresh()

    def _connections(self) -> tuple[tuple[SignalInstance, Callable[..., None]], ...]:
        session = self._session
        return (
            (session.reply_received, self._on_reply),
            (session.toggle_changed, self._on_toggle),
            (session.state_changed, self._on_state),
            (session.data_changed, self._on_data),
            (self._toggles.changed, self._show_toggles),
        )

    def refresh(self) -> None:
        """Compare the variants again."""
        self._snapshot = resolve(self._session.store, self._intent)
        self._item_model.set_rows(self._snapshot.rows)
        self._fit_table()
        self._chart.apply(self._snapshot)
        self._note.setText(self._note_text(self._snapshot))

    def _fit_table(self) -> None:
        """Give the table the height of its rows, so that the chart gets the rest."""
        table = self._table
        rows = sum(table.rowHeight(row) for row in range(self._item_model.rowCount()))
        bar = table.horizontalScrollBar().sizeHint().height()
        table.setFixedHeight(table.horizontalHeader().sizeHint().height() + rows + bar + 4)

    def is_idle(self) -> bool:
        """Return whether no answer is waited for and no A/B run is going on."""
        return not self._toggles.pending and (self._run is None or not self._run.active)

    def snapshot(self) -> LabSnapshot | None:
        """Return what is shown."""
        return self._snapshot

    def export(self, path: Path, file_format: str) -> None:
        """Write what is shown; the CSV holds the comparison table."""
        if file_format == "csv":
            write_csv(path, CSV_HEADER, csv_rows(self._snapshot) if self._snapshot else [])
        else:
            write_picture(self, path, file_format)

    # -- the target -----------------------------------------------------------------------------

    def _ask(self) -> None:
        if not self._asked and self._session.state == "open":
            self._asked = True
            self._toggles.request()

    def _on_reply(self, meta: Mapping[str, Any]) -> None:
        self._toggles.on_reply(meta)
        if self._run is not None:
            self._run.on_reply(meta)

    def _on_toggle(self, meta: Mapping[str, Any]) -> None:
        self._toggles.on_toggle(meta, self._session.store.records("toggle")[-1].step)

    def _on_data(self) -> None:
        self._toggles.advance()
        if self._run is not None:
            self._run.advance()
            self._show_run()

    def _on_state(self) -> None:
        self._ask()
        if self._session.state in ("lost", "closed"):
            self._toggles.forget()
            self._on_data()
        self._show_toggles()

    # -- what the person does -------------------------------------------------------------------

    def _on_switch(self, name: str, on: bool, params: dict[str, str]) -> None:
        self._toggles.switch(name, on, params)

    def _on_run(self, name: str, params: dict[str, str]) -> None:
        toggle = next(toggle for toggle in self._toggles.toggles if toggle.name == name)
        self._run = AbRun(
            self._session, name, params, toggle.on, self._steps_per_block.value(), self._pairs.value()
        )
        self._run.start()
        self._intent = replace(self._intent, first_step=self._run.first_step)
        self._range.setCurrentIndex(1)
        self._show_toggles()

    def _on_stop(self) -> None:
        if self._run is not None:
            self._run.stop()
            self._show_toggles()

    def _on_range(self, index: int) -> None:
        first = self._run.first_step if index == 1 and self._run is not None else 0
        self._intent = replace(self._intent, first_step=first)
        self.refresh()

    def _on_clicked(self, x: float, y: float) -> None:
        if self._snapshot is not None and len(self._snapshot.chart_step):
            steps = self._snapshot.chart_step
            self._session.go_to_step(int(steps[abs(steps - x).argmin()]))

    # -- texts ----------------------------------------------------------------------------------

    def _show_toggles(self) -> None:
        live = self._session.state in ("open", "paused")
        running = self._run is not None and self._run.active
        for toggle in self._toggles.toggles:
            row = self._rows.get(toggle.name)
            if row is None:
                row = self._rows[toggle.name] = ToggleRow(toggle, self)
                row.switch_asked.connect(self._on_switch)
                row.run_asked.connect(self._on_run)
                self._list.addWidget(row)
            row.show_toggle(toggle, live, running)
        self._message.setText(self._message_text(live))
        self._message.setVisible(bool(self._message.text()))
        for widget in (self._steps_name, self._steps_per_block, self._pairs_name, self._pairs):
            widget.setVisible(live and bool(self._rows))
        self._show_run()

    def _message_text(self, live: bool) -> str:
        if live:
            if self._rows:
                return ""
            return self.tr("Asking the target which optimisations apply; it answers after this step.")
        if self._session.state == "file":
            if self._session.store.hello:
                return self.tr("This is a recording: compare what ran. To switch, attach to a live program.")
            return self.tr("Attach to a program to switch optimisations in it while it runs.")
        return self.tr("The target is gone: nothing can be switched any more.")

    def _show_run(self) -> None:
        run = self._run
        active = run is not None and run.active
        self._stop.setVisible(active)
        self._progress.setVisible(active)
        self._run_note.setVisible(run is not None)
        if run is None:
            return
        self._progress.setRange(0, run.blocks * run.steps_per_block)
        self._progress.setValue(run.block * run.steps_per_block + run.steps_done)
        if active:
            text = self.tr("{name}: block {block} of {blocks}").format(
                name=run.name, block=run.block + 1, blocks=run.blocks
            )
        else:
            text = {
                DONE: self.tr("A/B run finished; the optimisation is as it was before."),
                STOPPED: self.tr("A/B run stopped; the optimisation is as it was before."),
                FAILED: self.tr("A/B run ended early: {reason}").format(
                    reason=run.problem or self.tr("the target did not answer")
                ),
            }[run.state]
            if self._rows:
                self._refresh_buttons()
        self._run_note.setText(text)

    def _refresh_buttons(self) -> None:
        live = self._session.state in ("open", "paused")
        for toggle in self._toggles.toggles:
            self._rows[toggle.name].show_toggle(toggle, live, running=False)

    def _note_text(self, snapshot: LabSnapshot) -> str:
        if not snapshot.rows:
            return self.tr("No step has been measured yet.")
        text = self.tr(
            "Left out: the first {warm_up} steps after each switch (warm-up) and deep steps; both are hollow "
            "below. Each block is compared with the plain blocks beside it, so drift cancels."
        ).format(warm_up=self._intent.warm_up)
        if snapshot.truncated:
            text += " " + self.tr("Only the newest steps are compared.")
        return text

    # -- language and theme ---------------------------------------------------------------------

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language and the palette."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
            self.refresh()
        elif event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._retheme()
            self.refresh()

    def _retheme(self) -> None:
        theme = chart_theme(self)
        self._chart.set_theme(theme)
        self._item_model.set_colours(tuple(theme.variant(index) for index in range(len(SYMBOLS))))

    def _retranslate(self) -> None:
        index = max(0, self._range.currentIndex())
        self._range.clear()
        self._range.addItems([self.tr("All steps"), self.tr("Last A/B run")])
        self._range.setCurrentIndex(index)
        self._range.setAccessibleName(self.tr("Steps compared"))
        self._steps_name.setText(self.tr("Steps a block"))
        self._pairs_name.setText(self.tr("Block pairs"))
        self._stop.setText(self.tr("Stop A/B run"))
        self._table.setAccessibleName(self.tr("Comparison of variants"))
        self._chart.setAccessibleName(self.tr("Step time by variant"))
        self._chart.getPlotItem().setLabel("left", self.tr("Step time (ms)"))
        self._chart.getPlotItem().setLabel("bottom", self.tr("Step"))
        self._item_model.retranslate()
        self._show_toggles()


def _label(parent: QWidget, name: str) -> QLabel:
    label = QLabel(parent)
    label.setObjectName(name)
    label.setWordWrap(True)
    return label


CSV_HEADER = [
    "variant", "steps", "warm_up_steps_left_out", "deep_steps_left_out", "median_ms", "median_low_ms",
    "median_high_ms", "p95_ms", "peak_bytes", "loss_median", "ratio_to_plain", "ratio_low", "ratio_high",
    "block_pairs", "verdict",
]  # fmt: skip


def csv_rows(snapshot: LabSnapshot) -> list[list[object]]:
    """Return one row a variant."""
    return [
        [
            row.variant, row.time_ms.count, row.warm_up, row.deep, row.time_ms.value, row.time_ms.low,
            row.time_ms.high, row.p95_ms, row.peak_bytes, row.loss,
            *_ratio(row.ratio),
            row.verdict,
        ]
        for row in snapshot.rows
    ]  # fmt: skip


def _ratio(ratio: Interval | None) -> tuple[float, float, float, int]:
    return (1.0, 1.0, 1.0, 0) if ratio is None else (ratio.value, ratio.low, ratio.high, ratio.count)
