"""Findings: what the rules proved of the session, and where to see it."""

from __future__ import annotations

import csv
import json
import time
from pathlib import Path
from typing import ClassVar

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QBrush, QColor
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QSplitter,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from tensorscope.core.finding import Finding
from tensorscope.models.findings import NEEDED_STEPS, find, missing
from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.selection import Selection
from tensorscope.models.session_model import SessionModel
from tensorscope.views.findings.finding_texts import FindingTexts
from tensorscope.views.items.newest_job import NewestJob
from tensorscope.views.picture import write_picture
from tensorscope.views.session_view import SessionView

PAUSE_SECONDS = 2.0
"""Between two looks at a live session."""
_COLOURS = {"info": "#0072B2", "warning": "#E69F00", "error": "#D55E00"}


class FindingsView(SessionView):
    """A list of findings, and the proof of the chosen one."""

    view_id: ClassVar[str] = "findings"
    open_requested = Signal(str)
    """Id of the view that shows the proof."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("findingsView")
        self._session = SessionModel()
        self._texts = FindingTexts(self)
        self._findings: list[Finding] = []
        self._looked_version = -1
        self._looked_at = 0.0
        self._job = NewestJob(self)
        self._job.done.connect(self._on_found)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.timeout.connect(self.refresh)
        self._build()
        self._retranslate()

    def _build(self) -> None:
        self._message = QLabel(self)
        self._message.setObjectName("findingsMessage")
        self._message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._message.setWordWrap(True)
        self._list = QTableWidget(0, 2, self)
        self._list.setObjectName("findingsList")
        self._list.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self._list.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self._list.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self._list.setWordWrap(True)
        self._list.verticalHeader().hide()
        self._list.horizontalHeader().setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        self._list.itemSelectionChanged.connect(self._show_details)
        self._advice = QLabel(self)
        self._advice.setObjectName("findingAdvice")
        self._advice.setWordWrap(True)
        self._advice.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._evidence = QTableWidget(0, 2, self)
        self._evidence.setObjectName("findingEvidence")
        self._evidence.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self._evidence.verticalHeader().hide()
        self._evidence.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self._open = QPushButton(self)
        self._open.setObjectName("showFinding")
        self._open.clicked.connect(self._on_open)
        details = QWidget(self)
        layout = QVBoxLayout(details)
        layout.addWidget(self._advice)
        layout.addWidget(self._evidence, 1)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self._open)
        layout.addLayout(buttons)
        self._split = QSplitter(Qt.Orientation.Vertical, self)
        self._split.addWidget(self._list)
        self._split.addWidget(details)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._message, 1)
        outer.addWidget(self._split, 1)

    def title(self) -> str:
        """Return the translated name of the view."""
        return self.tr("Findings")

    def set_session(self, session: SessionModel) -> None:
        """Show another session."""
        self._session = session
        self._job.cancel()
        self._findings = []
        self._looked_version, self._looked_at = -1, 0.0
        self._show()
        self.refresh()

    def refresh(self) -> None:
        """Run the rules in a worker thread, now and then while the session grows."""
        version = self._session.store.version
        if self._job.waiting or version == self._looked_version:
            return
        wait = PAUSE_SECONDS - (time.monotonic() - self._looked_at)
        if wait > 0:
            if not self._later.isActive():
                self._later.start(int(wait * 1000) + 1)
            return
        self._looked_version, self._looked_at = version, time.monotonic()
        store = FrozenStore(self._session.store)
        self._job.ask(lambda cancelled: find(store))

    def is_idle(self) -> bool:
        """Whether the rules have seen everything."""
        return not self._job.waiting and not self._later.isActive()

    def export(self, path: Path, file_format: str) -> None:
        """Write what is shown."""
        if file_format != "csv":
            write_picture(self, path, file_format)
            return
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["code", "severity", "title", "advice", "evidence_json"])
            for finding in self._findings:
                proof = json.dumps(dict(finding.evidence))
                writer.writerow([finding.code, finding.severity, finding.title, finding.advice, proof])

    def _on_found(self, generation: int, found: object) -> None:
        if not self._job.accept(generation) or not isinstance(found, list):
            return
        self._findings = found
        self._show()

    def _show(self) -> None:
        self._message.setVisible(not self._findings)
        self._split.setVisible(bool(self._findings))
        self._message.setText(self._silence())
        chosen = max(self._list.currentRow(), 0)
        self._list.setRowCount(len(self._findings))
        for row, finding in enumerate(self._findings):
            mark = QTableWidgetItem(f"● {self._texts.severity(finding)}")
            mark.setForeground(_brush(finding.severity))
            self._list.setItem(row, 0, mark)
            self._list.setItem(row, 1, QTableWidgetItem(self._texts.title(finding)))
        self._list.resizeColumnToContents(0)
        self._list.resizeRowsToContents()
        if self._findings:
            self._list.selectRow(min(chosen, len(self._findings) - 1))
        self._show_details()

    def _silence(self) -> str:
        need = missing(self._session.store)
        if need == "recorder" and not self._session.store.hello:
            return self.tr("No session is open.")
        if need == "recorder":
            return self.tr("Nothing can be said yet: allocations are not recorded at this capture level.")
        if need == "steps":
            text = self.tr("Nothing found. Rules about growth need {n} steps before they can prove anything.")
            return text.format(n=NEEDED_STEPS)
        return self.tr(
            "Nothing found. Looked for graphs that are kept across steps, parameters without gradient, "
            "writes "
            "over saved tensors, gradients that are not finite, and live bytes that grow every step."
        )

    def _current(self) -> Finding | None:
        row = self._list.currentRow()
        return self._findings[row] if 0 <= row < len(self._findings) else None

    def _show_details(self) -> None:
        finding = self._current()
        rows = self._texts.evidence(finding) if finding is not None else []
        self._advice.setText(self._texts.advice(finding) if finding is not None else "")
        self._evidence.setRowCount(len(rows))
        for row, (name, value) in enumerate(rows):
            self._evidence.setItem(row, 0, QTableWidgetItem(name))
            item = QTableWidgetItem(value)
            item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            self._evidence.setItem(row, 1, item)
        self._evidence.resizeColumnToContents(1)
        self._open.setEnabled(finding is not None)

    def _on_open(self) -> None:
        finding = self._current()
        if finding is None:
            return
        where = finding.where
        if "step" in where:
            self._session.go_to_step(int(where["step"]))
        node, module = int(where.get("node", -1)), where.get("module")
        if node >= 0 or module:
            self._session.select(Selection(node=node, module=str(module) if module else None))
        self.open_requested.emit(str(where.get("view", "")))

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()

    def _retranslate(self) -> None:
        self._list.setHorizontalHeaderLabels([self.tr("Severity"), self.tr("Finding")])
        self._evidence.setHorizontalHeaderLabels([self.tr("Proof"), self.tr("Value")])
        self._open.setText(self.tr("Show me"))
        self._list.setAccessibleName(self.tr("Findings"))
        self._evidence.setAccessibleName(self.tr("Proof of the chosen finding"))
        self._show()


def _brush(severity: str) -> QBrush:
    return QBrush(QColor(_COLOURS.get(severity, _COLOURS["info"])))
