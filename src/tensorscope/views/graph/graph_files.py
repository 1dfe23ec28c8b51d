"""The graph that is shown as CSV and DOT text, and as a picture of all of it."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QFont, QImage, QPainter, QPixmap
from PySide6.QtSvg import QSvgGenerator

from tensorscope.compute.graph_condense import CLUSTER
from tensorscope.core.whole_file import whole_file
from tensorscope.models.graph_model import GraphPicture
from tensorscope.views.csv_file import write_csv
from tensorscope.views.graph.graph_painter import GraphPainter, Marks
from tensorscope.views.items.chart_theme import ChartTheme

MARGIN_PX, MAX_SIDE_PX = 24, 16_000
PNG_SCALE = 2.0
"""Pictures are looked at on screens with two pixels a point, and printed."""
CSV_HEADER = (
    "item",
    "kind",
    "title",
    "module",
    "ops",
    "params",
    "shape",
    "saved_bytes",
    "backward_ns",
    "inside",
)


def write_items(picture: GraphPicture | None, path: Path) -> None:
    """Write one row for each item that is shown."""
    write_csv(path, CSV_HEADER, (_row(picture, item) for item in range(picture.count)) if picture else ())


def _row(picture: GraphPicture, item: int) -> list[object]:
    start, stop = picture.span(item)
    node = picture.node(item)
    return [
        item, ("op", "module", "expanded module")[picture.shown.kind[item]], picture.titles[item],
        picture.module(item), stop - start, len(picture.data.params(start, stop)),
        picture.data.text("node_shape", node) if node >= 0 else picture.out_shape[item],
        int(picture.saved_bytes[item]), int(picture.backward_ns[item]) if picture.data.timed else "",
        picture.shown.parent[item],
    ]  # fmt: skip


def write_dot(picture: GraphPicture, file: TextIO) -> None:
    """Write what is shown as DOT text; expanded modules are clusters, edges follow the forward pass."""
    file.write('digraph autograd {\n  rankdir=TB;\n  node [shape=box, fontname="sans-serif"];\n')
    open_clusters: list[int] = []
    for item in range(picture.count):
        while open_clusters and picture.shown.parent[item] != open_clusters[-1]:
            file.write("  }\n")
            open_clusters.pop()
        label = "\\n".join(
            _quoted(text)
            for text in (picture.titles[item], picture.lines[item], picture.sizes_text[item])
            if text
        )
        if picture.shown.kind[item] == CLUSTER:
            open_clusters.append(item)
            file.write(f'  subgraph cluster_{item} {{ label="{label}";\n')
        else:
            file.write(f'  n{item} [label="{label}"];\n')
    file.write("  }\n" * len(open_clusters))
    for source, target in picture.innermost_edges():
        file.write(f"  n{source} -> n{target};\n")
    for chip, (item, text) in enumerate(zip(picture.chip_item.tolist(), picture.chip_text, strict=True)):
        file.write(f'  p{chip} [label="{_quoted(text)}", shape=ellipse];\n  p{chip} -> n{item};\n')
    file.write("}\n")


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def write_graph_picture(
    picture: GraphPicture, path: Path, file_format: str, theme: ChartTheme, font: QFont, marks: Marks
) -> None:
    """Write all of the picture, not only what is in view, as ``png`` or ``svg``."""
    left, top, right, bottom = picture.bounds()
    size = QSize(int(right - left) + 2 * MARGIN_PX, int(bottom - top) + 2 * MARGIN_PX)
    wanted = PNG_SCALE if file_format == "png" else 1.0
    scale = min(wanted, MAX_SIDE_PX / max(size.width(), size.height()))
    size = QSize(max(1, round(size.width() * scale)), max(1, round(size.height() * scale)))
    if file_format not in ("png", "svg"):
        raise OSError(f"cannot write {file_format}: a graph can be png, svg, csv or dot")
    with whole_file(path) as part:
        device = _svg(part, size) if file_format == "svg" else QImage(size, QImage.Format.Format_RGB32)
        painter = QPainter()
        if not painter.begin(device):
            raise OSError(f"cannot write {path}")
        painter.fillRect(QRectF(0, 0, size.width(), size.height()), theme.background)
        painter.setFont(font)
        painter.scale(scale, scale)
        painter.translate(MARGIN_PX - left, MARGIN_PX - top)
        view = QRectF(left, top, right - left, bottom - top)
        GraphPainter().draw(painter, picture, theme, view, scale, marks)
        painter.end()
        if isinstance(device, QImage) and not QPixmap.fromImage(device).save(str(part), "PNG"):
            raise OSError(f"cannot write {path}")


def _svg(path: Path, size: QSize) -> QSvgGenerator:
    generator = QSvgGenerator()
    generator.setFileName(str(path))
    generator.setSize(size)
    generator.setViewBox(QRectF(0, 0, size.width(), size.height()))
    return generator
