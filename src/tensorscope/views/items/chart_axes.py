"""Axes with round numbers in the units people use for them."""

from __future__ import annotations

import math

import pyqtgraph as pg
from PySide6.QtWidgets import QGraphicsSceneResizeEvent

from tensorscope.core.units import BYTE_UNITS

MIN_TICK_PX = 30.0
"""Least distance between labelled ticks of a vertical axis."""
MAX_TICKS = 12


def nice_step(smallest: float) -> float:
    """Return the least of 1, 2, 5 x 10^n that is not below `smallest`."""
    power = 10.0 ** math.floor(math.log10(smallest))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= smallest * (1 - 1e-9))


def binary_step(smallest: float) -> float:
    """Return the least power of two that is not below `smallest`."""
    return float(2.0 ** math.ceil(math.log2(smallest)))


class ChartAxis(pg.AxisItem):
    """One level of labelled ticks; the unit stands with every number's axis label."""

    def __init__(self, orientation: str, min_tick_px: float = MIN_TICK_PX) -> None:
        super().__init__(orientation)
        self._min_tick_px = min_tick_px
        self.enableAutoSIPrefix(False)
        self.setStyle(maxTickLevel=0, tickLength=-5)

    def resizeEvent(self, event: QGraphicsSceneResizeEvent | None = None) -> None:
        """Fade out a title that has no room: a cut one is worse than none."""
        super().resizeEvent(event)
        room = self.height() if self.orientation == "left" else self.width()
        self.label.setOpacity(1.0 if self.label.boundingRect().width() <= room else 0.0)

    def setLabel(self, *arguments: object, **options: object) -> None:
        """Take another title."""
        super().setLabel(*arguments, **options)
        self.resizeEvent()

    def step(self, smallest: float) -> float:
        """Return a round distance between ticks, at least `smallest`."""
        return nice_step(smallest)

    def tickSpacing(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, float]]:
        """Return one level of ticks, never closer than they can be read."""
        span = abs(maxVal - minVal)
        if not span > 0 or size <= 0 or not math.isfinite(span):
            return []
        apart_px = max(self._min_tick_px, size / MAX_TICKS)
        return [(self.step(span * apart_px / size), 0)]


class BytesAxis(ChartAxis):
    """Bytes at powers of two: 0, 256 MiB, 512 MiB, 768 MiB."""

    def step(self, smallest: float) -> float:
        """Return a power of two."""
        return binary_step(max(smallest, 1.0))

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return every tick in the unit of the largest."""
        largest = max((abs(value) for value in values), default=0.0)
        unit = min(int(math.log2(largest) / 10) if largest >= 1 else 0, len(BYTE_UNITS) - 1)
        if unit and spacing < 1024**unit / 4:  # 128 KiB rather than 0.125 MiB
            unit -= 1
        return ["0" if value == 0 else f"{value / 1024**unit:g} {BYTE_UNITS[unit]}" for value in values]


class SecondsAxis(ChartAxis):
    """Seconds, with as many decimals as the distance between ticks needs."""

    def __init__(self) -> None:
        super().__init__("bottom", min_tick_px=84.0)

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return fixed decimals, so that the numbers do not jump while panning."""
        places = max(0, -math.floor(math.log10(spacing) + 1e-9))
        return [f"{value:.{places}f}" for value in values]


class MomentsAxis(SecondsAxis):
    """Seconds, or whole event numbers while `counts_events` is set."""

    counts_events = False

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return seconds or grouped numbers."""
        if not self.counts_events:
            return super().tickStrings(values, scale, spacing)
        if spacing < 1:
            return [f"{value:g}" for value in values]
        return [f"{round(value):,}" for value in values]


class StepsAxis(ChartAxis):
    """Whole step numbers."""

    def __init__(self) -> None:
        super().__init__("bottom", min_tick_px=64.0)

    def step(self, smallest: float) -> float:
        """Return a whole round number."""
        return max(1.0, nice_step(smallest))

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return integers with thin groups; nothing below step 0."""
        return [f"{round(value):,}".replace(",", " ") if value >= 0 else "" for value in values]


class NumberAxis(ChartAxis):
    """Plain numbers, such as milliseconds or a loss."""

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return the shortest form of each."""
        places = max(0, -math.floor(math.log10(spacing) + 1e-9))
        return [f"{value:.{places}f}" if abs(value) < 1e6 else f"{value:.3g}" for value in values]
