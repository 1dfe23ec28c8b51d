"""Colours that say where in its storage an element lies: the same ramp in the grid and on the strip."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor

STOPS = ("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725")
"""Nine stops of the viridis map: even in lightness, readable without telling hues apart."""
LEVELS = 256


def _table(stops: Sequence[str]) -> NDArray[np.uint8]:
    """Return (256, 3) RGB, even between the stops."""
    rgb = np.array([[c.red(), c.green(), c.blue()] for c in map(QColor, stops)], float)
    at = np.linspace(0, len(stops) - 1, LEVELS)
    channels = [np.rint(np.interp(at, np.arange(len(stops)), rgb[:, i])) for i in range(3)]
    return np.stack(channels, axis=1).astype(np.uint8)


RAMP = _table(STOPS)
DIVERGING = _table(("#005aa0", "#78b2de", "#f6f6f6", "#eea06e", "#c44e00"))
"""Blue for negative over near-white for 0 to orange for positive."""


def ramp_levels(positions: NDArray[np.int64], storage_elems: int) -> NDArray[np.uint8]:
    """Return the level of the ramp for every position of a storage."""
    last = max(1, storage_elems - 1)
    levels: NDArray[np.uint8] = np.clip(positions * (LEVELS - 1) // last, 0, LEVELS - 1).astype(np.uint8)
    return levels


def value_levels(values: NDArray[np.float64], scale: float) -> NDArray[np.uint8]:
    """Return levels of `DIVERGING` with ±`scale` at its ends; what is not finite becomes the middle."""
    shares = np.nan_to_num(values / scale if scale > 0 else values * 0, nan=0.0, posinf=1.0, neginf=-1.0)
    return np.rint((np.clip(shares, -1, 1) + 1) / 2 * (LEVELS - 1)).astype(np.uint8)


def text_on(colours: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return for each RGB whether black reads better on it than white."""
    dark: NDArray[np.bool_] = (colours @ np.array([0.299, 0.587, 0.114])) > 140
    return dark
