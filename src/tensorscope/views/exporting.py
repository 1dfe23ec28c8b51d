"""Writing what a view shows: pictures of a widget, tables as CSV."""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

from tensorscope.core.version import VERSION


def export_widget(widget: QWidget, path: Path, file_format: str) -> None:
    """Write `widget` as it is on the screen, as ``png`` or ``svg``. GUI thread.

    The file appears whole or not at all.

    Raises
    ------
    OSError
        With the reason, if the file cannot be written or the format is not one of the two.
    """
    if file_format not in ("png", "svg"):
        raise OSError(f"Cannot export as {file_format!r}: choose png, svg or csv.")
    part = _part_of(path)
    try:
        written = _write_png(widget, part) if file_format == "png" else _write_svg(widget, part)
        if not written:
            raise OSError(f"Cannot write {path}: the picture could not be saved.")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table as UTF-8 CSV; the file appears whole or not at all. Raises OSError."""
    part = _part_of(path)
    try:
        with part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(rows)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _part_of(path: Path) -> Path:
    """Return a new empty file beside `path`."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    return Path(name)


def _write_png(widget: QWidget, path: Path) -> bool:
    return widget.grab().save(str(path), "PNG")


def _write_svg(widget: QWidget, path: Path) -> bool:
    generator = QSvgGenerator()
    generator.setFileName(str(path))
    generator.setSize(widget.size())
    generator.setViewBox(QRect(QPoint(0, 0), widget.size()))
    generator.setResolution(96)
    generator.setTitle(widget.accessibleName() or widget.objectName())
    generator.setDescription(f"TensorScope {VERSION}")
    painter = QPainter()
    if not painter.begin(generator):
        return False
    try:
        widget.render(painter, QPoint(0, 0))
    finally:
        ended = painter.end()
    _sharpen(path)
    return ended


def _sharpen(path: Path) -> None:
    """Ask viewers not to smooth edges: rectangles that touch would show seams."""
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("<svg ", '<svg shape-rendering="crispEdges" ', 1), encoding="utf-8")
