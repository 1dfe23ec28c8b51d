"""What the window remembers between starts."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs
from PySide6.QtCore import QByteArray, QSettings

from tensorscope.app.languages import LANGUAGES, system_language
from tensorscope.app.theme import THEMES

MAX_RECENT = 10
LAYOUT_VERSION = 2
"""Grows whenever docks are added or renamed, so that an older layout is not forced on them."""


def settings_file() -> Path:
    """Return the settings file; its folder can be set by TENSORSCOPE_SETTINGS_DIR."""
    folder = os.environ.get("TENSORSCOPE_SETTINGS_DIR") or platformdirs.user_config_dir("tensorscope")
    return Path(folder) / "window.ini"


class Settings:
    """Typed access to the settings file. A damaged value counts as never set."""

    def __init__(self) -> None:
        self._store = QSettings(str(settings_file()), QSettings.Format.IniFormat)

    def reset(self) -> None:
        """Forget everything."""
        self._store.clear()

    @property
    def theme(self) -> str:
        """One of `theme.THEMES`."""
        value = str(self._store.value("theme", "auto"))
        return value if value in THEMES else "auto"

    @theme.setter
    def theme(self, theme: str) -> None:
        self._store.setValue("theme", theme)

    @property
    def language(self) -> str:
        """One of `languages.LANGUAGES`."""
        value = str(self._store.value("language", system_language()))
        return value if value in LANGUAGES else "en"

    @language.setter
    def language(self, language: str) -> None:
        self._store.setValue("language", language)

    @property
    def recent_files(self) -> list[str]:
        """Session files that were opened, the newest first."""
        value = self._store.value("recent", [])
        items = [value] if isinstance(value, str) else value
        return [str(item) for item in items if item][:MAX_RECENT] if isinstance(items, list) else []

    def add_recent_file(self, path: Path) -> None:
        """Put `path` first in the list of recent files."""
        text = str(path.absolute())
        self._store.setValue("recent", [text, *(p for p in self.recent_files if p != text)][:MAX_RECENT])

    def clear_recent_files(self) -> None:
        """Forget the recent files."""
        self._store.setValue("recent", [])

    def save_layout(self, geometry: QByteArray, state: QByteArray) -> None:
        """Keep the window's place and docks."""
        self._store.setValue("geometry", geometry)
        self._store.setValue("state", state)
        self._store.sync()

    def layout(self) -> tuple[QByteArray, QByteArray] | None:
        """Return what `save_layout` kept, or None."""
        geometry, state = self._store.value("geometry"), self._store.value("state")
        if isinstance(geometry, QByteArray) and isinstance(state, QByteArray):
            return geometry, state
        return None
