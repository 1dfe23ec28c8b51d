"""The graph that is shown as CSV and DOT text, and as a picture of all of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import numpy as np
from PySide6.QtCore import QMarginsF, QRectF, QSize, QSizeF
from PySide6.QtGui import QFont, QImage, QPageSize, QPainter, QPdfWriter, QPixmap
from PySide6.QtSvg import QSvgGenerator

from tensorscope.compute.graph_condense import CLUSTER
from tensorscope.core.whole_file import whole_file
from tensorscope.models.graph_data import GraphData
from tensorscope.models.graph_model import GraphPicture
from tensorscope.views.csv_file import write_csv
from tensorscope.views.graph.graph_painter import GraphPainter, Marks
from tensorscope.views.items.chart_theme import ChartTheme

MARGIN_PX, MAX_SIDE_PX = 24, 16_000
PNG_SCALE = 2.0
"""Pictures are looked at on screens with two pixels a point, and printed."""
JSON_TEXTS = ("name", "module", "param", "shape", "dtype", "source")
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


def write_json(picture: GraphPicture, file: TextIO) -> None:
    """Write every node, edge and saved tensor, and which item shows each node; a line each."""
    data = picture.data
    head = {"step": data.record.step, "node_count": data.count, "edge_count": len(data.edge_from)}
    file.write(json.dumps(head)[:-1])
    for name, rows in (("nodes", _nodes(picture)), ("edges", _edges(data)), ("saved", _saved(data))):
        file.write(f',\n"{name}": [')
        for number, row in enumerate(rows):
            file.write((",\n" if number else "\n") + json.dumps(row, ensure_ascii=False))
        file.write("]")
    file.write("}\n")


def _nodes(picture: GraphPicture) -> Iterator[dict[str, object]]:
    data = picture.data
    texts = {
        name: data.texts(f"node_{name}") for name in ("name", "module", "param", "shape", "dtype", "source")
    }
    norms = data.grad_norm
    for node in range(data.count):
        row: dict[str, object] = {"node": node, **{name: values[node] for name, values in texts.items()}}
        row["saved_bytes"] = int(data.saved_bytes[node])
        row["backward_ns"] = int(data.backward_ns[node]) if data.backward_ns[node] >= 0 else None
        if norms is not None:
            row["grad_norm"] = float(norms[node]) if np.isfinite(norms[node]) else None
        row["item"] = picture.item_of_node(node)
        yield row


def _edges(data: GraphData) -> Iterator[list[int]]:
    return (list(pair) for pair in zip(data.edge_from.tolist(), data.edge_to.tolist(), strict=True))


def _saved(data: GraphData) -> Iterator[dict[str, object]]:
    columns = data.record.columns
    for row, node in enumerate(columns["saved_node"].tolist()):
        yield {
            "node": node, "name": data.text("saved_name", row), "shape": data.text("saved_shape", row),
            "dtype": data.text("saved_dtype", row), "bytes": int(columns["saved_bytes"][row]),
            "storage": int(columns["saved_storage"][row]),
        }  # fmt: skip


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def write_graph_picture(
    picture: GraphPicture, path: Path, file_format: str, theme: ChartTheme, font: QFont, marks: Marks
) -> None:
    """Write all of the picture, not only what is in view, as ``png``, ``svg`` or ``pdf``."""
    left, top, right, bottom = picture.bounds()
    size = QSize(int(right - left) + 2 * MARGIN_PX, int(bottom - top) + 2 * MARGIN_PX)
    wanted = PNG_SCALE if file_format == "png" else 1.0
    scale = min(wanted, MAX_SIDE_PX / max(size.width(), size.height()))
    size = QSize(max(1, round(size.width() * scale)), max(1, round(size.height() * scale)))
    if file_format not in ("png", "svg", "pdf"):
        raise OSError(f"cannot write {file_format}: a graph can be png, svg, pdf, csv, dot or json")
    with whole_file(path) as part:
        device = _device(part, size, file_format)
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


def _device(path: Path, size: QSize, file_format: str) -> QSvgGenerator | QPdfWriter | QImage:
    if file_format == "png":
        return QImage(size, QImage.Format.Format_RGB32)
    return _svg(path, size) if file_format == "svg" else _pdf(path, size)


def _pdf(path: Path, size: QSize) -> QPdfWriter:
    """Return one page as large as the picture, a point a px."""
    writer = QPdfWriter(str(path))
    writer.setResolution(72)
    writer.setPageSize(QPageSize(QSizeF(size), QPageSize.Unit.Point))
    writer.setPageMargins(QMarginsF())
    return writer


def _svg(path: Path, size: QSize) -> QSvgGenerator:
    generator = QSvgGenerator()
    generator.setFileName(str(path))
    generator.setSize(size)
    generator.setViewBox(QRectF(0, 0, size.width(), size.height()))
    return generator
