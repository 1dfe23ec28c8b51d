"""Names of series for people, and the ids by which tests find their rows."""

from __future__ import annotations

from PySide6.QtCore import QObject

from tensorscope.core.schema import CATEGORIES, PHASES
from tensorscope.models.grouping import CATEGORY, Grouped
from tensorscope.views.names import Names


class SeriesNames(QObject):
    """Turns the raw labels of a grouping into words."""

    def __init__(self, names: Names, parent: QObject) -> None:
        super().__init__(parent)
        self._names = names

    def groups(self) -> dict[str, str]:
        """Return the name of each grouping."""
        return {
            CATEGORY: self.tr("Category"),
            "module": self.tr("Module"),
            "phase": self.tr("Phase"),
            "stack": self.tr("Line of code"),
            "stream": self.tr("Stream"),
            "device": self.tr("Device"),
            "pool": self.tr("Pool"),
        }

    def ids(self, grouped: Grouped | None) -> list[str]:
        """Return one id a series."""
        if grouped is None:
            return list(CATEGORIES)
        return [f"{grouped.group}_{index}" for index in range(len(grouped.labels))]

    def series(self, grouped: Grouped | None) -> list[str]:
        """Return the name of each series that is shown."""
        if grouped is None:
            return self._names.categories()
        last = len(grouped.labels) - 1
        return [
            self.tr("{count} others").format(count=f"{grouped.others:,}")
            if grouped.others and index == last
            else self._label(grouped.group, label)
            for index, label in enumerate(grouped.labels)
        ]

    def _label(self, group: str, label: str) -> str:
        if group == "phase":
            known = dict(zip((*PHASES, "before"), (*self._names.phases(), self.tr("Before")), strict=True))
            return known.get(label, label)
        if group == "stream":
            return self.tr("Default stream") if label == "0" else self.tr("Stream {n}").format(n=label)
        if group == "device":
            return self._names.device(int(label)) if label.lstrip("-").isdigit() else label
        if label:
            return label
        if group == "pool":
            return self.tr("Default pool")
        return self.tr("Outside of modules") if group == "module" else self.tr("Stack not recorded")
