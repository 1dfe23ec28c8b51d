"""What the memory timeline shows as a table."""

from __future__ import annotations

import numpy as np

from tensorscope.models.memory_axis import EVENT
from tensorscope.models.memory_snapshot import MemorySnapshot


def csv_header(axis: str, series: list[str]) -> list[str]:
    """Return the header of `csv_rows`, with units."""
    x = ["first_event", "last_event"] if axis == EVENT else ["t0_s", "t1_s"]
    return [*x, "total_max_bytes", "total_min_bytes", *(f"{name}_bytes" for name in series)]


def csv_rows(snapshot: MemorySnapshot) -> list[list[float | int]]:
    """Return one row a drawn column: what is on the screen, hidden series as 0."""
    numbers = np.column_stack([snapshot.high_bytes, snapshot.low_bytes, snapshot.series_bytes]).tolist()
    x0, x1 = (snapshot.x0 / snapshot.units).tolist(), (snapshot.x1 / snapshot.units).tolist()
    return [[*span, *row] for span, row in zip(zip(x0, x1, strict=True), numbers, strict=True)]
