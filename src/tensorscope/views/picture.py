"""A widget as a PNG or SVG file."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPoint
from PySide6.QtGui import QColorConstants, QImage, QImageWriter, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

from tensorscope.core.whole_file import whole_file

PNG_SCALE = 2
"""Pixels a point: pictures are looked at on dense screens, and printed."""


def write_picture(widget: QWidget, path: Path, file_format: str) -> None:
    """Write what `widget` shows as ``png`` or ``svg``; raise OSError with the reason if that fails."""
    if file_format not in ("png", "svg"):
        raise OSError(f"cannot write {file_format}: pictures are png or svg")
    with whole_file(path) as part:
        if not (_write_png if file_format == "png" else _write_svg)(widget, part):
            raise OSError(f"cannot write {path}")


def _write_png(widget: QWidget, path: Path) -> bool:
    image = QImage(widget.size() * PNG_SCALE, QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(PNG_SCALE)
    image.fill(QColorConstants.Transparent)
    widget.render(image, QPoint())
    return QImageWriter(str(path), b"png").write(image)


def _write_svg(widget: QWidget, path: Path) -> bool:
    generator = QSvgGenerator()
    generator.setFileName(str(path))
    generator.setSize(widget.size())
    generator.setViewBox(widget.rect())
    painter = QPainter()
    if not painter.begin(generator):
        return False
    try:
        widget.render(painter, QPoint())
    finally:
        ended = painter.end()
    _sharpen(path)
    return ended


def _sharpen(path: Path) -> None:
    """Ask viewers not to smooth edges: rectangles that touch would show seams."""
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("<svg ", '<svg shape-rendering="crispEdges" ', 1), encoding="utf-8")
