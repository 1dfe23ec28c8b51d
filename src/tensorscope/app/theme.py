"""The look: Qt's Fusion style with a light and a dark palette of our own."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QPalette
from PySide6.QtWidgets import QApplication

THEMES = ("auto", "light", "dark")
_ROLES = {
    "light": {
        "Window": "#f4f5f7", "WindowText": "#1b1f24", "Base": "#ffffff", "AlternateBase": "#f7f8fa",
        "Text": "#1b1f24", "Button": "#eceef1", "ButtonText": "#1b1f24", "BrightText": "#b00020",
        "ToolTipBase": "#ffffff", "ToolTipText": "#1b1f24", "PlaceholderText": "#6b7280",
        "Highlight": "#1f6feb", "HighlightedText": "#ffffff", "Link": "#0b57d0", "LinkVisited": "#6e40c9",
        "Light": "#ffffff", "Midlight": "#e6e8ec", "Mid": "#c9cdd3", "Dark": "#9aa1ab", "Shadow": "#5b6169",
    },
    "dark": {
        "Window": "#1c1f24", "WindowText": "#e4e7eb", "Base": "#14161a", "AlternateBase": "#191c21",
        "Text": "#e4e7eb", "Button": "#2a2e35", "ButtonText": "#e4e7eb", "BrightText": "#ff6b6b",
        "ToolTipBase": "#2a2e35", "ToolTipText": "#e4e7eb", "PlaceholderText": "#8b939e",
        "Highlight": "#3b82f6", "HighlightedText": "#ffffff", "Link": "#7ab7ff", "LinkVisited": "#c4a7ff",
        "Light": "#3a3f48", "Midlight": "#31363e", "Mid": "#3d434c", "Dark": "#0d0f12", "Shadow": "#000000",
    },
}  # fmt: skip
_CHECK_BOX = {"light": "#d5d9df", "dark": "#aab2bd"}
_DISABLED = {"light": "#9aa1ab", "dark": "#6b737e"}


def system_is_dark() -> bool:
    """Return whether the desktop asks for a dark look."""
    return QApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark


def resolved(theme: str) -> str:
    """Return ``light`` or ``dark`` for a setting of `THEMES`."""
    if theme == "auto":
        return "dark" if system_is_dark() else "light"
    return theme


def make_palette(name: str) -> QPalette:
    """Return the palette ``light`` or ``dark``."""
    palette = QPalette()
    for role, colour in _ROLES[name].items():
        palette.setColor(getattr(QPalette.ColorRole, role), QColor(colour))
    disabled = QColor(_DISABLED[name])
    for role in ("WindowText", "Text", "ButtonText", "HighlightedText"):
        palette.setColor(QPalette.ColorGroup.Disabled, getattr(QPalette.ColorRole, role), disabled)
    return palette


def apply_theme(application: QApplication, theme: str) -> None:
    """Give every widget of `application` the look of `theme`, now."""
    if application.style().objectName().lower() != "fusion":
        application.setStyle("Fusion")
    palette = make_palette(resolved(theme))
    application.setPalette(palette)
    # Fusion outlines the box of a check box in a darker shade of this role: in the dark nobody would see it.
    palette.setColor(QPalette.ColorRole.Window, QColor(_CHECK_BOX[resolved(theme)]))
    application.setPalette(palette, "QCheckBox")  # type: ignore[arg-type]  # the stub wants bytes


def tabular(font: QFont) -> QFont:
    """Return `font` with figures of equal width, where it has them."""
    copy = QFont(font)
    if hasattr(copy, "setFeature"):
        copy.setFeature(QFont.Tag("tnum"), 1)
    return copy
