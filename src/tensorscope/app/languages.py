"""English and Simplified Chinese, switched while the window is open."""

from __future__ import annotations

from PySide6.QtCore import QLibraryInfo, QLocale, QTranslator
from PySide6.QtWidgets import QApplication

from tensorscope.core.resource_paths import resource_path

LANGUAGES = {"en": "English", "zh_CN": "简体中文"}
"""Setting to the name that each language gives itself."""
_NAME = "tensorscopeTranslator"


def system_language() -> str:
    """Return the one of `LANGUAGES` that the desktop asks for, else English."""
    return "zh_CN" if QLocale.system().language() == QLocale.Language.Chinese else "en"


class Languages:
    """The translators of one application, which owns them. GUI thread."""

    def __init__(self, application: QApplication) -> None:
        self._application = application
        self.current = "en"

    def use(self, language: str) -> None:
        """Switch to `language`; every widget then gets a LanguageChange event."""
        for translator in self._application.findChildren(QTranslator, _NAME):
            self._application.removeTranslator(translator)
            translator.deleteLater()
        self.current = language if language in LANGUAGES else "en"
        QLocale.setDefault(QLocale(self.current))
        if self.current == "en":
            return
        # Qt's own words (dialog buttons) first, so that ours win where both have one.
        qt_folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
        self._install(f"qtbase_{self.current}", qt_folder)
        self._install(f"tensorscope_{self.current}", str(resource_path("i18n")))

    def _install(self, name: str, folder: str) -> None:
        translator = QTranslator(self._application)
        translator.setObjectName(_NAME)
        if translator.load(name, folder):
            self._application.installTranslator(translator)
