"""What comes out of a comparison of allocator settings."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.allocator_replay import Failure, Replay
from tensorscope.compute.allocator_requests import Requests
from tensorscope.compute.allocator_settings import AllocatorSettings

Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WhatIfRow:
    """One setting.

    Attributes
    ----------
    is_reference
        The others are compared with it: the setting of the recorded program, PyTorch's defaults where
        that is not known.
    replay
        With as much memory as it takes; where garbage is collected, within the limit.
    limited
        Within the limit; None without one.
    difference_bytes
        Peak reserved, against the reference replayed in the same way.
    """

    settings: AllocatorSettings
    is_reference: bool
    replay: Replay
    limited: Replay | None
    difference_bytes: int

    @property
    def fits(self) -> bool | None:
        """Whether every request would have been served; None without a limit."""
        return None if self.limited is None else self.limited.failure is None

    @property
    def failure(self) -> Failure | None:
        """The first request that does not fit."""
        return None if self.limited is None else self.limited.failure

    @property
    def retries(self) -> int:
        """How often the whole cache was given back to serve a request."""
        return self.replay.retries if self.limited is None else self.limited.retries

    @property
    def unused_share(self) -> float:
        """Fragmentation at the peak: of what was reserved then, the share that never was in a block."""
        peak = self.replay.peak_reserved_bytes
        return self.replay.unused_at_peak_bytes / peak if peak else 0.0


@dataclass(frozen=True, eq=False)
class Exactness:
    """How near the model comes to what was recorded.

    Attributes
    ----------
    kind
        ``exact``: replayed from the recorded state with the recorded settings, it reserved the recorded
        bytes after every request. ``off``: it did not. ``simulated``: there is nothing to compare with.
    reserved_difference_bytes, end_difference_bytes
        Model minus recording: the largest at any time (either sign), and at the end.
    same_addresses, allocations
        So many blocks lay where the recorded allocator put them.
    """

    kind: str
    reserved_difference_bytes: int = 0
    end_difference_bytes: int = 0
    same_addresses: int = 0
    allocations: int = 0


@dataclass(frozen=True, eq=False)
class RecordedCurve:
    """What was reserved after each request, as recorded."""

    reserved_bytes: Longs = field(repr=False)
    peak_reserved_bytes: int
    end_reserved_bytes: int


@dataclass(frozen=True)
class Note:
    """Something a person must know about the table.

    Attributes
    ----------
    code
        What a translation goes by; `values` fill its placeholders.
    text
        In English.
    """

    code: str
    text: str
    values: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class WhatIf:
    """Rows by their peak of reserved bytes, what fits first; none without a history of requests.

    Attributes
    ----------
    source
        ``trace``: a CUDA allocator's own events. ``cuda``: blocks of a CUDA device, as large as its
        allocator rounded them. ``cpu``: what the program asked the CPU's allocator for.
    start
        ``empty``, or ``recorded``: from what the allocator held when the recording began.
    peak_requested_bytes
        The most that the program held at once, without any rounding.
    limit_bytes
        What was asked about; None for no limit.
    recorded_limit_bytes
        What the device had for this allocator when it ran out of memory; None where it never did.
    """

    rows: tuple[WhatIfRow, ...]
    exactness: Exactness
    notes: tuple[Note, ...]
    device: int = -1
    devices: tuple[int, ...] = ()
    source: str = "cpu"
    start: str = "empty"
    peak_requested_bytes: int = 0
    limit_bytes: int | None = None
    recorded_limit_bytes: int | None = None
    requests: Requests | None = None
    recorded: RecordedCurve | None = None

    @property
    def reference_row(self) -> WhatIfRow | None:
        """The row that the others are compared with."""
        return next((row for row in self.rows if row.is_reference), None)
