"""Translated names of categories, phases and levels, the same in every view."""

from __future__ import annotations

from PySide6.QtCore import QObject


class Names(QObject):
    """Names for people of what `core.schema` numbers."""

    def categories(self) -> list[str]:
        """Return the names of the memory categories, in schema order."""
        return [
            self.tr("Parameters"),
            self.tr("Gradients"),
            self.tr("Optimizer state"),
            self.tr("Buffers"),
            self.tr("Inputs"),
            self.tr("Activations"),
            self.tr("Temporary"),
            self.tr("Unknown"),
        ]

    def phases(self) -> list[str]:
        """Return the names of the phases, in schema order."""
        return [self.tr("Other"), self.tr("Forward"), self.tr("Backward"), self.tr("Optimizer")]

    def device(self, device: int) -> str:
        """Return the name of a device number."""
        return self.tr("CPU") if device < 0 else self.tr("CUDA {index}").format(index=device)

    def variant(self, variant: str) -> str:
        """Return the name of a variant."""
        return variant or self.tr("Plain")
