"""A widget as a PNG or SVG file."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPoint
from PySide6.QtGui import QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget


def write_picture(widget: QWidget, path: Path, file_format: str) -> None:
    """Write what `widget` shows as ``png`` or ``svg``; raise OSError with the reason if that fails."""
    if file_format == "png":
        if not widget.grab().save(str(path), "PNG"):
            raise OSError(f"cannot write {path}")
        return
    if file_format != "svg":
        raise OSError(f"cannot write {file_format}: pictures are png or svg")
    generator = QSvgGenerator()
    generator.setFileName(str(path))
    generator.setSize(widget.size())
    generator.setViewBox(widget.rect())
    painter = QPainter()
    if not painter.begin(generator):
        raise OSError(f"cannot write {path}")
    widget.render(painter, QPoint())
    painter.end()
