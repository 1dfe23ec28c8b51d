"""All that is known of one operation, module or parameter of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from PySide6.QtWidgets import QTextBrowser, QWidget

from tensorscope.core.units import MISSING, format_bytes, format_ns
from tensorscope.models.graph_data import GraphData
from tensorscope.models.graph_model import GraphPicture

MAX_ROWS = 12


class GraphDetails(QTextBrowser):
    """Text that can be selected and copied."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("graphDetails")
        self.setOpenLinks(False)
        self.setFrameShape(QTextBrowser.Shape.NoFrame)

    def show_nothing(self) -> None:
        """Say how to select."""
        hint = self.tr("Click a box to see what it is, what it saved for backward and how long that takes.")
        keys = self.tr("Double-click or Enter expands a module, arrows walk along edges, / finds, F fits.")
        self.setHtml(f"<p>{escape(hint)}</p><p>{escape(keys)}</p>")

    def show_item(self, picture: GraphPicture, item: int) -> None:
        """Show an item."""
        node = picture.node(item)
        if node >= 0:
            self._show_node(picture.data, node)
        else:
            self._show_group(picture, item)

    def show_param(self, data: GraphData, node: int) -> None:
        """Show a parameter."""
        uses = int((data.chips[1] == node).sum())
        rows = [
            (self.tr("Node"), data.text("node_name", node)),
            (self.tr("Shape"), data.text("node_shape", node)),
            (self.tr("Dtype"), data.text("node_dtype", node)),
            (self.tr("Used by"), self.tr("{count} operations").format(count=uses)),
        ]
        self.setHtml(_heading(data.text("node_param", node) or self.tr("Leaf")) + _table(rows))

    def _show_node(self, data: GraphData, node: int) -> None:
        ns = int(data.backward_ns[node])
        rows = [
            (self.tr("Module"), data.text("node_module", node) or self.tr("(outside of modules)")),
            (self.tr("Shape"), data.text("node_shape", node) or MISSING),
            (self.tr("Dtype"), data.text("node_dtype", node) or MISSING),
            (self.tr("Source"), data.text("node_source", node) or MISSING),
            (self.tr("Backward"), format_ns(ns) if ns >= 0 else self.tr("not timed")),
            (self.tr("Saved"), format_bytes(int(data.saved_bytes[node]))),
        ]
        html = _heading(data.text("node_name", node)) + _table(rows)
        saved = data.saved_rows(node)
        if len(saved):
            columns = data.record.columns
            lines = [
                (
                    data.text("saved_name", int(row)),
                    f"{data.text('saved_shape', int(row))} {data.text('saved_dtype', int(row))}",
                    format_bytes(int(columns["saved_bytes"][row])),
                )
                for row in saved[:MAX_ROWS]
            ]
            html += _subheading(self.tr("Saved tensors")) + _table(lines)
            note = self.tr("A storage that several nodes save is counted once, at the first.")
            html += f"<p>{escape(note)}</p>"
        self.setHtml(html)

    def _show_group(self, picture: GraphPicture, item: int) -> None:
        data = picture.data
        start, stop = picture.span(item)
        total = int(data.sums[0][-1])
        saved = int(picture.saved_bytes[item])
        share = f"{100 * saved / total:.3g}%" if total else MISSING
        params = data.params(start, stop)
        rows = [
            (self.tr("Module"), picture.module(item) or self.tr("(outside of modules)")),
            (self.tr("Operations"), f"{stop - start:,}"),
            (self.tr("Parameters"), f"{len(params):,}"),
            (
                self.tr("Saved"),
                self.tr("{size} ({share} of the graph)").format(size=format_bytes(saved), share=share),
            ),
            (
                self.tr("Backward"),
                format_ns(int(picture.backward_ns[item])) if data.timed else self.tr("not timed"),
            ),
        ]
        html = _heading(picture.titles[item]) + _table(rows)
        nodes = data.outline.order[start:stop]
        largest = nodes[data.saved_bytes[nodes].argsort(kind="stable")[::-1][:5]]
        lines = [
            (
                data.text("node_name", int(n)),
                data.text("node_shape", int(n)),
                format_bytes(int(data.saved_bytes[n])),
            )
            for n in largest
            if data.saved_bytes[n] > 0
        ]
        if lines:
            html += _subheading(self.tr("Largest saved here")) + _table(lines)
        if len(params):
            names = [
                (data.text("node_param", int(n)), data.text("node_shape", int(n))) for n in params[:MAX_ROWS]
            ]
            if len(params) > MAX_ROWS:
                names.append((self.tr("and {count} more").format(count=len(params) - MAX_ROWS), ""))
            html += _subheading(self.tr("Parameters")) + _table(names)
        self.setHtml(html)


def _heading(text: str) -> str:
    return f"<h3 style='margin-bottom:4px'>{_breakable(text)}</h3>"


def _subheading(text: str) -> str:
    return f"<p style='margin-bottom:2px'><b>{escape(text)}</b></p>"


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    lines = "".join(
        "<tr>" + "".join(f"<td style='padding-right:10px'>{_breakable(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table cellspacing='0' cellpadding='1'>{lines}</table>"


def _breakable(text: str) -> str:
    """Let long dotted names break after their dots."""
    return escape(text).replace(".", ".\u200b").replace("_", "_\u200b")
