"""A QApplication for drawing into files."""

from __future__ import annotations

import os
import sys

from PySide6.QtWidgets import QApplication


def gui_application() -> QApplication:
    """Return the application, made for drawing off screen if there is none yet."""
    found = QApplication.instance()
    if isinstance(found, QApplication):
        return found
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")  # no window may flash up on a desktop
    return QApplication(sys.argv[:1])
