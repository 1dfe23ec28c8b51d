"""What the window asks of every view."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from PySide6.QtWidgets import QWidget

from tensorscope.models.session_model import SessionModel


class SessionView(QWidget):
    """Base of all views. GUI thread only.

    A view shows `session`; it never keeps one that was replaced. The window calls `refresh` at
    most 30 times a second, only while the view is visible and something changed. Step and
    selection changes arrive through `session.step_changed` and `session.selection_changed`.
    """

    view_id: ClassVar[str] = ""
    """Stable id: ``steps``, ``memory``, ``graph``, ``tensor``, ``lab``, ``findings``."""
    formats: ClassVar[tuple[str, ...]] = ("png", "svg", "csv")

    def title(self) -> str:
        """Return the translated name of the view."""
        raise NotImplementedError

    def set_session(self, session: SessionModel) -> None:
        """Show another session; disconnect from the one before."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Resolve the snapshot of what should be seen and apply what changed. Under 16 ms."""
        raise NotImplementedError

    def show_everything(self) -> None:
        """Show the whole session, if the view begins with a part of it."""

    def export(self, path: Path, file_format: str) -> None:
        """Write what is shown as ``png``, ``svg`` or ``csv``. Raises OSError with the reason."""
        raise NotImplementedError

    def is_idle(self) -> bool:
        """Return whether nothing is being computed or waited for (tests and screenshots ask)."""
        return True
