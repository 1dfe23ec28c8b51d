"""The colours a chart needs, for the palette a widget has now."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QPalette, QPen
from PySide6.QtWidgets import QWidget

OKABE_ITO = ("#0072B2", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#009E73", "#E69F00", "#999999")
PHASE = ("#999999", "#56B4E9", "#E69F00", "#CC79A7")


@dataclass(frozen=True)
class ChartTheme:
    """Colours of one theme; categories, phases and variants by their index."""

    background: QColor
    text: QColor
    muted: QColor
    grid: QColor
    accent: QColor
    warning: QColor
    categories: tuple[QColor, ...]
    phases: tuple[QColor, ...]

    def phase_tints(self) -> list[QBrush]:
        """Return the phases, faint enough to lie behind everything; opaque, for blending hundreds is slow."""
        return [QBrush(mixed(colour, self.background, 0.1)) for colour in self.phases]

    def series(self, count: int, others: bool) -> list[QColor]:
        """Return colours of `count` series, largest first; what is left over is grey.

        Seven hues, then the same lighter and darker: neighbours never share a hue.
        """
        hues = [self.categories[index] for index in (0, 6, 5, 2, 3, 1, 4)]
        shades = (100, 155, 65, 125, 45)
        found = [hues[i % 7].lighter(shades[i // 7 % len(shades)]) for i in range(count)]
        return [*found[:-1], self.categories[7]] if others and found else found

    def variant(self, index: int) -> QColor:
        """Return the colour of the n-th variant; plain is neutral."""
        order = (7, 0, 1, 5, 2, 6)
        return self.categories[order[index % len(order)]]

    def on(self, colour: QColor) -> QColor:
        """Return black or white, whichever reads better on `colour`."""
        return QColor("#000000") if perceived_brightness(colour) > 140 else QColor("#ffffff")


def perceived_brightness(colour: QColor) -> float:
    """Return 0 (black) to 255 (white)."""
    return 0.299 * colour.red() + 0.587 * colour.green() + 0.114 * colour.blue()


def mixed(colour: QColor, background: QColor, share: float) -> QColor:
    """Return what `colour`, as opaque as `share`, looks like on `background`."""

    def channel(one: int, other: int) -> int:
        return round(share * one + (1 - share) * other)

    return QColor(
        channel(colour.red(), background.red()),
        channel(colour.green(), background.green()),
        channel(colour.blue(), background.blue()),
    )


def with_alpha(colour: QColor, alpha: int) -> QColor:
    """Return `colour` with `alpha` of 255."""
    return QColor(colour.red(), colour.green(), colour.blue(), alpha)


def cosmetic(pen: QPen, width: float, style: Qt.PenStyle = Qt.PenStyle.SolidLine) -> QPen:
    """Return `pen` with a width in pixels at any zoom."""
    pen.setCosmetic(True)
    pen.setWidthF(width)
    pen.setStyle(style)
    return pen


def chart_theme(widget: QWidget) -> ChartTheme:
    """Return the colours for the palette of `widget`."""
    palette = widget.palette()
    base, text = palette.color(QPalette.ColorRole.Base), palette.color(QPalette.ColorRole.Text)
    return ChartTheme(
        background=base, text=text, muted=with_alpha(text, 150), grid=with_alpha(text, 70),
        accent=palette.color(QPalette.ColorRole.Highlight), warning=QColor("#D55E00"),
        categories=tuple(QColor(c) for c in OKABE_ITO), phases=tuple(QColor(c) for c in PHASE),
    )  # fmt: skip
