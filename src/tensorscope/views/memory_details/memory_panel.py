"""What the memory details view asks of each of its panels."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QWidget

from tensorscope.models.session_model import SessionModel
from tensorscope.views.picture import write_picture


class MemoryPanel(QWidget):
    """Base of the panels. GUI thread only; a panel is built when its tab is first shown.

    A panel follows `session.moment_ns` and the selection where they matter to it, through the
    session's signals. Whatever takes over 16 ms runs in a `NewestJob`, on arrays that were taken
    from the store in the GUI thread (they are append-only, so they may be read elsewhere).
    """

    panel_id: ClassVar[str] = ""
    formats: ClassVar[tuple[str, ...]] = ("png", "svg", "csv")

    def set_session(self, session: SessionModel) -> None:
        """Show another session; disconnect from the one before."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Show what is new; called while visible, at most 30 times a second. Under 16 ms."""
        raise NotImplementedError

    def retranslate(self) -> None:
        """Set every text again, in the language that is in use now."""

    def retheme(self) -> None:
        """Take colours and sizes of the palette and font that are in use now."""

    def is_idle(self) -> bool:
        """Return whether nothing is being computed."""
        return True

    def csv_table(self) -> tuple[list[str], list[list[object]]]:
        """Return header and rows of what is shown, numbers as numbers with units in the header."""
        raise NotImplementedError

    def write_picture(self, path: Path, file_format: str) -> None:
        """Write what is shown as a picture. Raises OSError with the reason."""
        write_picture(self, path, file_format)

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language and the palette."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self.retranslate()
        elif event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self.retheme()
