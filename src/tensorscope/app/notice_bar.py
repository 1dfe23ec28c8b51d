"""Notices above the views: never in the way, repeats merged with a count."""

from __future__ import annotations

import html
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QToolButton, QWidget

INFO_MS = 6000
_MARKS = {"info": "ℹ", "warning": "⚠", "error": "✖"}
_COLOURS = {"info": "#0072B2", "warning": "#E69F00", "error": "#D55E00"}


@dataclass
class Notice:
    """What was said, and how often."""

    severity: str
    text: str
    count: int = 1


class NoticeBar(QFrame):
    """Shows the newest unread notice. Information fades, warnings and errors stay until dismissed."""

    shown_changed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("noticeBar")
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.notices: list[Notice] = []
        self._label = QLabel(self)
        self._label.setObjectName("noticeText")
        self._label.setTextFormat(Qt.TextFormat.RichText)
        self._label.setWordWrap(True)
        self._label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._dismiss = QToolButton(self)
        self._dismiss.setObjectName("dismissNotice")
        self._dismiss.setAutoRaise(True)
        self._dismiss.setText("✕")
        self._dismiss.clicked.connect(self.dismiss)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(10, 4, 4, 4)
        layout.addWidget(self._label, 1)
        layout.addWidget(self._dismiss, 0, Qt.AlignmentFlag.AlignTop)
        self._fade = QTimer(self)
        self._fade.setSingleShot(True)
        self._fade.timeout.connect(self.dismiss)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._retranslate()

    def sizeHint(self) -> QSize:
        """Return the height that the text needs at the width there is; a label alone would guess."""
        return QSize(self.width(), self.heightForWidth(self.width()))

    def minimumSizeHint(self) -> QSize:
        """Return the same height, at any width."""
        return QSize(0, self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Ask for another height at another width."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def show_notice(self, severity: str, text: str) -> None:
        """Show `text`; the same text again only counts."""
        for notice in self.notices:
            if notice.text == text and notice.severity == severity:
                notice.count += 1
                self.notices.remove(notice)
                self.notices.append(notice)
                break
        else:
            self.notices.append(Notice(severity if severity in _MARKS else "info", text))
            del self.notices[:-50]
        self._show_newest()

    def dismiss(self) -> None:
        """Take the newest notice away and show the one before."""
        if self.notices:
            self.notices.pop()
        self._show_newest()

    def _show_newest(self) -> None:
        self._fade.stop()
        self.shown_changed.emit(bool(self.notices))
        if not self.notices:
            return
        newest = self.notices[-1]
        mark = f'<span style="color:{_COLOURS[newest.severity]}">{_MARKS[newest.severity]}</span>'
        count = f" (×{newest.count})" if newest.count > 1 else ""
        more = ""
        if len(self.notices) > 1:
            more = " " + self.tr("{n} more").format(n=len(self.notices) - 1)
        self._label.setText(f"{mark}&nbsp; {html.escape(newest.text + count)}<i>{html.escape(more)}</i>")
        self.updateGeometry()
        if newest.severity == "info":
            self._fade.start(INFO_MS)

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
            self._show_newest()

    def _retranslate(self) -> None:
        self._dismiss.setToolTip(self.tr("Dismiss"))
        self._dismiss.setAccessibleName(self.tr("Dismiss this notice"))
