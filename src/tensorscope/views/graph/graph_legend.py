"""What the fills of the boxes stand for, in one line."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QWidget

from tensorscope.core.units import format_bytes, format_ns
from tensorscope.models.graph_colours import BY_BYTES, BY_GRADIENT, BY_OP, BY_TIME, SHADES, Fills
from tensorscope.views.graph.graph_painter import fill_brush
from tensorscope.views.items.chart_theme import chart_theme

MAX_NAME_CHARS = 22


class GraphLegend(QLabel):
    """Swatches with their meaning; nothing where boxes are not filled. GUI thread."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("graphLegend")
        self.setContentsMargins(8, 2, 8, 4)

    def show_fills(self, fills: Fills | None, colour_by: int) -> None:
        """Show what `fills` stand for."""
        if fills is None:
            self.clear()
        elif fills.names:
            names = self._kinds() if colour_by == BY_OP else {}
            shown = [names.get(name, name) for name in fills.names]
            levels = range(len(fills.names) + 1)
            texts = [*map(_short, shown), self.tr("others")]
            used = set(fills.index.tolist())
            parts = [
                self._swatch(fills, level, colour_by) + f" {text}"
                for level, text in zip(levels, texts, strict=True)
                if level in used
            ]
            self.setText("&nbsp; ".join(parts))
        elif fills.high > 0:
            swatches = "".join(self._swatch(fills, level, colour_by) for level in range(1, SHADES))
            low, high = (self._number(value, colour_by) for value in (fills.low, fills.high))
            self.setText(f"{low} {swatches} {high}")
        else:
            self.setText(self._nothing(colour_by))

    def _swatch(self, fills: Fills, level: int, colour_by: int) -> str:
        colour = fill_brush(chart_theme(self), fills, level, colour_by).color().name()
        return f'<span style="color:{colour}">■</span>'

    def _number(self, value: float, colour_by: int) -> str:
        if colour_by == BY_BYTES:
            return format_bytes(value)
        return format_ns(value) if colour_by == BY_TIME else f"{value:.3g}"

    def _nothing(self, colour_by: int) -> str:
        if colour_by == BY_GRADIENT:
            return self.tr("Gradients were not measured: ask for a deep step with gradients.")
        return self.tr("Backward was not timed.") if colour_by == BY_TIME else ""

    def _kinds(self) -> dict[str, str]:
        return {
            "matmul": self.tr("matrix product"),
            "convolution": self.tr("convolution, pooling"),
            "attention": self.tr("attention"),
            "normalisation": self.tr("normalisation"),
            "activation": self.tr("activation"),
            "elementwise": self.tr("elementwise"),
            "shape": self.tr("shape"),
        }


def _short(name: str) -> str:
    return name if len(name) <= MAX_NAME_CHARS else f"…{name[-MAX_NAME_CHARS:]}"
