"""Translated names of what the schema numbers, for the tensor view."""

from __future__ import annotations

from PySide6.QtCore import QObject


class TensorNames(QObject):
    """Names for people; methods, so that a change of language is followed."""

    def roles(self) -> list[str]:
        """Return the names of `schema.ROLES`."""
        return [
            self.tr("Parameter"), self.tr("Gradient"), self.tr("Optimizer state"), self.tr("Buffer"),
            self.tr("Input"), self.tr("Activation"), self.tr("Saved for backward"), self.tr("Named"),
        ]  # fmt: skip

    def layouts(self) -> list[str]:
        """Return the names of `compute.strides.LAYOUTS`, short enough for a column."""
        return [
            self.tr("scalar"), self.tr("contiguous"), self.tr("channels last"), self.tr("transposed"),
            self.tr("sliced"), self.tr("expanded"), self.tr("overlapping"),
        ]  # fmt: skip

    def layout_help(self) -> list[str]:
        """Return one sentence for each layout."""
        return [
            self.tr("One element."),
            self.tr("Elements lie in order, without gaps."),
            self.tr("Dense, with the channel axis innermost."),
            self.tr("Elements do not lie in index order: a row walk jumps through memory."),
            self.tr("Elements lie in order, with gaps between them."),
            self.tr("An axis of stride 0 repeats the same elements without storing them again."),
            self.tr("Several indices share a place: writing to one changes the others."),
        ]

    def columns(self) -> list[str]:
        """Return the headers of the table, with units."""
        return [
            self.tr("Name"), self.tr("Role"), self.tr("Shape"), self.tr("Dtype"), self.tr("Stride (elems)"),
            self.tr("Offset (elems)"), self.tr("Storage"), self.tr("Tensor bytes"), self.tr("Storage bytes"),
            self.tr("Layout"), self.tr("Shared by"), self.tr("Requires grad"), self.tr("grad_fn"),
        ]  # fmt: skip
