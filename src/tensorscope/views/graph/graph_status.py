"""One line under the graph: how large it is, from which step, and what is not seen."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from tensorscope.core.units import format_bytes
from tensorscope.models.graph_model import GraphSnapshot


class GraphStatus(QLabel):
    """Says what is shown; the tooltip says it whole where the line is cut."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("graphStatus")
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setContentsMargins(8, 2, 8, 4)

    def show_facts(self, snapshot: GraphSnapshot, waiting: bool, problem: str) -> None:
        """Show the facts of a graph; nothing where there is none."""
        data = snapshot.data
        if data is None:
            self.setText("")
            return
        parts = [
            self.tr("{nodes} nodes, {edges} edges").format(
                nodes=f"{data.count:,}", edges=f"{len(data.edge_from):,}"
            ),
            self.tr("{size} saved for backward").format(size=format_bytes(int(data.saved_bytes.sum()))),
            self.tr("captured at step {step}").format(step=snapshot.step),
        ]
        if snapshot.stale_steps:
            one = snapshot.stale_steps == 1
            text = self.tr("1 step ago") if one else self.tr("{count} steps ago")
            parts.append(text.format(count=snapshot.stale_steps))
        if snapshot.facts.get("truncated"):
            parts.append(self.tr("cut short: the graph is larger than what is captured"))
        if snapshot.facts.get("compiled"):
            parts.append(self.tr("compiled parts are one node each"))
        if waiting:
            parts.append(self.tr("laying out …"))
        if problem:
            parts.append(problem)
        self.setText(" · ".join(parts))
        self.setToolTip(self.text())
