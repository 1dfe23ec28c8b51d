"""Steps: time by phase, loss and memory peak of every training iteration."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from psygnal import SignalInstance
from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QComboBox, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from tensorscope.core.schema import PHASES
from tensorscope.core.units import MISSING, format_bytes, format_ns
from tensorscope.models.session_model import SessionModel
from tensorscope.models.steps_model import StepDetails, StepsIntent, StepsModel, StepsSnapshot
from tensorscope.views.csv_file import write_csv
from tensorscope.views.items.chart_theme import chart_theme
from tensorscope.views.items.step_chart import StepChart
from tensorscope.views.names import Names
from tensorscope.views.picture import write_picture
from tensorscope.views.session_view import SessionView
from tensorscope.views.steps.step_charts import LossChart, PeakChart, TimeChart

WINDOWS = (0, 100, 1000)
NARROW_EM, LOW_EM = 60, 28
PHASE_ORDER = (1, 2, 3, 0)
"""Order in which phases are told: as they run, the rest last."""


class StepsView(SessionView):
    """Three linked plots over the step number; hovering reads a step, clicking goes to it."""

    view_id: ClassVar[str] = "steps"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("stepsView")
        self._session = SessionModel()
        self._model = StepsModel(self._session.store)
        self._intent = StepsIntent()
        self._snapshot: StepsSnapshot | None = None
        self._hover_x: float | None = None
        self._waiting = False
        self._names = Names(self)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.timeout.connect(self.refresh)
        self._build()
        self._retheme()
        self._retranslate()

    def _build(self) -> None:
        self._window = QComboBox(self)
        self._window.setObjectName("stepsWindow")
        self._window.activated.connect(self._on_window)
        self._legend = QLabel(self)
        self._legend.setObjectName("stepsLegend")
        self._legend.setTextFormat(Qt.TextFormat.RichText)
        self._summary = QLabel(self)
        self._summary.setObjectName("stepsSummary")
        self._summary.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._details = QLabel(self)
        self._details.setObjectName("stepsDetails")
        self._details.setWordWrap(True)
        self._details.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._details.setMinimumHeight(2 * self.fontMetrics().lineSpacing())
        for label in (self._summary, self._details):
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._message = QLabel(self)
        self._message.setObjectName("stepsMessage")
        self._message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._message.setWordWrap(True)
        self._time, self._loss, self._peak = TimeChart(self), LossChart(self), PeakChart(self)
        bar = QHBoxLayout()
        bar.setContentsMargins(8, 4, 8, 4)
        bar.addWidget(self._window)
        self._texts = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._texts.addWidget(self._legend)
        self._texts.addWidget(self._summary, 1)
        bar.addLayout(self._texts, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(bar)
        for chart, stretch in ((self._time, 4), (self._loss, 2), (self._peak, 3)):
            layout.addWidget(chart, stretch)
            self._connect_chart(chart)
        layout.addWidget(self._message, 1)
        foot = QHBoxLayout()
        foot.setContentsMargins(8, 2, 8, 4)
        foot.addWidget(self._details)
        layout.addLayout(foot)
        for chart in (self._time, self._loss):
            chart.getPlotItem().getAxis("bottom").setStyle(showValues=False)
            chart.getPlotItem().getAxis("bottom").setHeight(6)
        self.setFocusProxy(self._time)

    def _connect_chart(self, chart: StepChart) -> None:
        chart.moved.connect(self._on_moved)
        chart.hovered.connect(self._on_hovered)
        chart.hover_left.connect(self._on_hover_left)
        chart.clicked.connect(self._on_clicked)
        chart.fit_asked.connect(self._on_fit)
        chart.edge_asked.connect(self._on_edge)
        chart.peak_asked.connect(self._on_peak)
        chart.resized.connect(self._on_resized)

    # -- what the window asks -------------------------------------------------------------------

    def title(self) -> str:
        """Return the translated name of the view."""
        return self.tr("Steps")

    def set_session(self, session: SessionModel) -> None:
        """Show another session."""
        for signal, slot in self._connections():
            signal.disconnect(slot, missing_ok=True)
        self._session = session
        self._model = StepsModel(session.store)
        self._intent = replace(self._intent, window=None)
        self._snapshot, self._hover_x = None, None
        for signal, slot in self._connections():
            signal.connect(slot)
        self.refresh()

    def _connections(self) -> tuple[tuple[SignalInstance, Callable[..., None]], ...]:
        return (
            (self._session.step_changed, self._on_step),
            (self._session.state_changed, self._show_message),
        )

    def refresh(self) -> None:
        """Take in new steps and show the window at pixel resolution."""
        self._waiting = self._model.update()
        if self._waiting:
            self._later.start()
        empty = not len(self._model)
        for widget in (self._time, self._loss, self._peak, self._details, self._summary):
            widget.setVisible(not empty)
        self._message.setVisible(empty)
        self._show_message()
        if empty:
            return
        self._intent = replace(self._intent, columns=self._time.columns)
        snapshot = self._snapshot = self._model.resolve(self._intent)
        self._time.apply(snapshot, [self._names.variant(span.variant) for span in snapshot.spans])
        self._loss.apply(snapshot)
        self._peak.apply(snapshot)
        self._on_step(self._session.current_step)
        self._show_window()
        self._summary.setText(self._summary_text(snapshot))

    def is_idle(self) -> bool:
        """Return whether every step that arrived is in the picture."""
        return not self._waiting

    def snapshot(self) -> StepsSnapshot | None:
        """Return what is shown."""
        return self._snapshot

    def export(self, path: Path, file_format: str) -> None:
        """Write what is shown; the CSV holds the drawn bars."""
        if file_format == "csv":
            write_csv(
                path, CSV_HEADER, [] if self._snapshot is None else csv_rows(self._model, self._snapshot)
            )
        else:
            write_picture(self, path, file_format)

    # -- what the person does -------------------------------------------------------------------

    def _charts(self) -> tuple[StepChart, ...]:
        return self._time, self._loss, self._peak

    def _on_window(self, index: int) -> None:
        if index == len(WINDOWS):
            return
        self._intent = replace(self._intent, steps=WINDOWS[index], window=None)
        self.refresh()

    def _on_moved(self, first: float, last: float) -> None:
        self._intent = replace(self._intent, window=(first, max(last, first + 1.0)))
        self._later.start()

    def _on_resized(self) -> None:
        self._later.start()

    def _on_fit(self) -> None:
        self._intent = replace(self._intent, window=None)
        self.refresh()

    def _on_edge(self, side: int) -> None:
        if self._snapshot is not None:
            steps = self._model.column("step")
            span = self._snapshot.last - self._snapshot.first
            first = steps[0] - 0.5 if side < 0 else max(steps[0] - 0.5, steps[-1] + 0.5 - span)
            self._on_moved(float(first), float(first) + span)

    def _on_peak(self, direction: int) -> None:
        """Go to the step before or after the current one."""
        steps = self._model.column("step")
        if len(steps):
            at = int(steps.searchsorted(self._session.current_step)) + direction
            self._session.go_to_step(int(steps[min(max(at, 0), len(steps) - 1)]))

    def _on_hovered(self, x: float, y: float) -> None:
        self._hover_x = x
        self._show_details()

    def _on_hover_left(self) -> None:
        self._hover_x = None
        self._show_details()

    def _on_clicked(self, x: float, y: float) -> None:
        details = self._model.details(x)
        if details is not None:
            self._session.go_to_step(details.step)

    def _on_step(self, step: int) -> None:
        for chart in self._charts():
            chart.show_step(step)
        self._show_details()

    # -- texts ----------------------------------------------------------------------------------

    def _show_details(self) -> None:
        x = self._session.current_step if self._hover_x is None else self._hover_x
        details = self._model.details(x)
        for chart in self._charts():
            shown = None if self._hover_x is None or details is None else float(details.step)
            chart.show_cursor(shown)
        self._details.setText("" if details is None else self._details_text(details))

    def _details_text(self, details: StepDetails) -> str:
        names = self._names.phases()
        phases = ", ".join(f"{names[i].lower()} {format_ns(details.phase_ns[i])}" for i in PHASE_ORDER)
        parts = [
            self.tr("Step {step}: {time} ({phases})").format(
                step=details.step, time=format_ns(details.duration_ns), phases=phases
            ),
            self.tr("loss {loss}").format(loss=number(details.loss)),
            self.tr("peak {size}").format(size=format_bytes(details.peak_bytes)),
            self.tr("process {size}").format(size=format_bytes(details.rss_bytes)),
            self.tr("agent {time}").format(time=format_ns(details.agent_ns)),
        ]
        if math.isfinite(details.grad_norm):
            parts.append(self.tr("gradient norm {norm}").format(norm=number(details.grad_norm)))
        if details.level == "deep":
            parts.append(self.tr("deep capture"))
        parts.append(self._names.variant(details.variant))
        return " · ".join(parts)

    def _summary_text(self, snapshot: StepsSnapshot) -> str:
        text = self.tr("{count} steps · median {median} · p95 {p95} · agent {agent}").format(
            count=f"{snapshot.count:,}",
            median=format_ns(snapshot.median_ms * 1e6),
            p95=format_ns(snapshot.p95_ms * 1e6),
            agent=f"{100 * snapshot.agent_share:.1f} %" if math.isfinite(snapshot.agent_share) else MISSING,
        )
        return text + " · " + self.tr("sampled") if snapshot.sampled else text

    def _show_window(self) -> None:
        """Say in the chooser that the person moved the window away from the last steps."""
        custom = self._intent.window is not None
        if custom and self._window.count() == len(WINDOWS):
            self._window.addItem(self.tr("Chosen span"))
        elif not custom and self._window.count() > len(WINDOWS):
            self._window.removeItem(len(WINDOWS))
        self._window.setCurrentIndex(len(WINDOWS) if custom else WINDOWS.index(self._intent.steps))

    def _show_message(self) -> None:
        if self._session.store.hello:
            text = self.tr("Waiting for the first step: it ends when an optimizer has stepped.")
        else:
            text = self.tr("Attach to a program or open a session file to see its steps.")
        self._message.setText(text)

    # -- size, language and theme ---------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the summary below the legend where both do not fit in one line; no title in a low panel."""
        super().resizeEvent(event)
        narrow = self.width() < NARROW_EM * self.fontMetrics().height()
        direction = QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        self._texts.setDirection(direction)
        side = Qt.AlignmentFlag.AlignLeft if narrow else Qt.AlignmentFlag.AlignRight
        self._summary.setAlignment(side | Qt.AlignmentFlag.AlignVCenter)
        self._peak.getPlotItem().getAxis("bottom").showLabel(
            self.height() > LOW_EM * self.fontMetrics().height()
        )

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
        self._theme = chart_theme(self)
        for chart in self._charts():
            chart.set_theme(self._theme)
        self._show_legend()

    def _show_legend(self) -> None:
        names = self._names.phases()
        swatch = '<span style="color:{colour}">■</span>&nbsp;{name}'
        parts = [swatch.format(colour=self._theme.phases[i].name(), name=names[i]) for i in PHASE_ORDER]
        self._legend.setText("&nbsp;&nbsp; ".join(parts))

    def _retranslate(self) -> None:
        self._window.clear()
        for steps in WINDOWS:
            text = self.tr("Last {count} steps").format(count=steps) if steps else self.tr("All steps")
            self._window.addItem(text)
        self._show_window()
        self._window.setAccessibleName(self.tr("Step window"))
        axes = (self.tr("Step time (ms)"), self.tr("Loss"), self.tr("Peak memory"))
        for chart, text in zip(self._charts(), axes, strict=True):
            chart.setAccessibleName(text)
            chart.getPlotItem().setLabel("left", text)
        self._peak.getPlotItem().setLabel("bottom", self.tr("Step"))
        self._show_legend()
        self._show_message()
        self._show_details()


def number(value: float) -> str:
    """Return a number as people read a loss."""
    return f"{value:.5g}" if math.isfinite(value) else (MISSING if math.isnan(value) else str(value))


CSV_HEADER = [
    "step", "total_ms", *(f"{phase}_ms" for phase in PHASES), "fastest_in_column_ms", "loss",
    "peak_bytes", "live_bytes", "rss_bytes", "agent_ms", "level", "variant",
]  # fmt: skip


def csv_rows(model: StepsModel, snapshot: StepsSnapshot) -> list[list[object]]:
    """Return one row a drawn bar: a step, or the slowest step of a pixel column."""
    rows: list[list[object]] = []
    for row, phases, fastest in zip(
        snapshot.bar_rows.tolist(), snapshot.phase_ms.tolist(), snapshot.fastest_ms.tolist(), strict=True
    ):
        step = model.details_of_row(row)
        rows.append([
            step.step, step.duration_ns / 1e6, *phases, fastest, step.loss, step.peak_bytes, step.live_bytes,
            step.rss_bytes, step.agent_ns / 1e6, step.level, step.variant,
        ])  # fmt: skip
    return rows
