"""What the memory timeline is asked for, and what it is given: frozen, in axis units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorscope.models.memory_axis import TIME

Longs = NDArray[np.int64]

ALL_DEVICES = -2


@dataclass(frozen=True)
class MemoryIntent:
    """What the person wants to see.

    Attributes
    ----------
    window
        Explicit span in axis units (ns since the session's origin, or thousandths of an event);
        None: the last `steps` steps.
    steps
        How many steps up to `end_step`; 0 for all.
    end_step
        Last step of the span; -1 for the newest.
    hidden
        Series left out of the stack (the total stays what it is).
    axis
        `memory_axis.TIME` or `memory_axis.EVENT`.
    """

    window: tuple[int, int] | None = None
    steps: int = 5
    end_step: int = -1
    columns: int = 1000
    hidden: frozenset[int] = frozenset()
    axis: str = TIME


@dataclass(frozen=True, eq=False)
class Bands:
    """Spans in axis units; `kind` is a phase index, or a step number."""

    x0: Longs
    x1: Longs
    kind: Longs

    def at_least(self, length: int) -> Bands:
        """Return those that are as long as that."""
        long = self.x1 - self.x0 >= length
        return Bands(self.x0[long], self.x1[long], self.kind[long])


@dataclass(frozen=True, eq=False)
class MemorySnapshot:
    """A frozen picture of the window, in axis units; `units` of them are one of what the axis labels.

    Attributes
    ----------
    x0, x1
        Spans over which the columns are equal, one entry a drawn column.
    series_bytes
        (columns, series): live bytes at the event where the column's total is highest.
    high_bytes, low_bytes
        Largest and smallest total within each column; the difference is what the zoom hides.
    now_bytes
        Live bytes by series at the end of the window.
    peak_x, peak_t_ns, peak_bytes
        Where the total is highest in the window, and what it consists of there.
    order
        Series from the bottom of the stack to its top.
    """

    axis: str
    units: float
    window: tuple[int, int]
    x0: Longs
    x1: Longs
    series_bytes: Longs
    high_bytes: Longs
    low_bytes: Longs
    now_bytes: Longs
    peak_x: int
    peak_t_ns: int
    peak_bytes: Longs
    order: tuple[int, ...]
    phases: Bands
    steps: Bands
    gaps: Bands
    events: int


@dataclass(frozen=True)
class Moment:
    """One instant: what was alive, and the last event at or before it (row -1: a baseline)."""

    t_ns: int
    step: int
    phase: int
    total_bytes: int
    series_bytes: tuple[int, ...]
    event_row: int
    event_t_ns: int
