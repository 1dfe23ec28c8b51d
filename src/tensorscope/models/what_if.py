"""What a recorded program would have needed under other settings of CUDA's caching allocator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.allocator_replay import ALLOC, FREE, Failure, Replay, Requests, replay
from tensorscope.compute.allocator_settings import (
    MIB, AllocatorSettings, recorded_settings, uniform_divisions,
)  # fmt: skip
from tensorscope.compute.cancelling import Cancelled
from tensorscope.models.allocations import find_allocations
from tensorscope.models.allocator_requests import Recording, devices_of, find_requests
from tensorscope.models.recorded_allocator import RecordedAllocator
from tensorscope.models.session_store import SessionStore

Longs = NDArray[np.int64]
Progress = Callable[[float], None]
"""Called with the share that is done, 0 to 1."""

_MAX_SPLIT_MIB = (64, 128, 256, 512)
_DIVISIONS = (4, 8, 16)
_THRESHOLDS = (0.6, 0.8)


@dataclass(frozen=True, eq=False)
class WhatIfRow:
    """One setting.

    Attributes
    ----------
    is_recorded
        It is the setting of the recorded program.
    replay
        With as much memory as it takes; where garbage is collected, within the limit.
    limited
        Within the limit; None without one.
    difference_bytes
        Peak reserved, against the recorded setting replayed in the same way.
    """

    settings: AllocatorSettings
    is_recorded: bool
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
        """Fragmentation at the peak: of what was reserved then, the share that no block used."""
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
    """Rows by their peak of reserved bytes, the smallest first; none without a history of requests.

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
    def recorded_row(self) -> WhatIfRow | None:
        """The row that the others are compared with."""
        return next((row for row in self.rows if row.is_recorded), None)


def what_if_table(
    store: SessionStore, limit_bytes: int | None = None, *, device: int | None = None,
    start: str = "empty", cancelled: Cancelled = lambda: False, progress: Progress = lambda _: None,
) -> WhatIf:  # fmt: skip
    """Replay the requests of one device under each setting that is worth a try.

    Parameters
    ----------
    store
        Nobody may write to it meanwhile: give another thread `store.frozen()`.
    limit_bytes
        What the device has for this allocator: without the CUDA context and other programs.
    device
        The one with most events if None.
    start
        ``empty`` or ``recorded``; where no recorded state is known, empty.

    Raises
    ------
    CancelledError
        If `cancelled` says so.
    """
    devices = tuple(devices_of(store))
    if not devices or not len(store.tables["alloc"]):
        return WhatIf((), Exactness("simulated"), (_NO_HISTORY,), devices=devices)
    chosen = devices[0] if device is None else device
    return _Table(store, chosen, devices, limit_bytes, start).build(cancelled, progress)


def offered_settings(recorded: AllocatorSettings, with_steps: bool, limited: bool) -> list[AllocatorSettings]:
    """Return the settings worth comparing, `recorded` first, none twice.

    Parameters
    ----------
    with_steps
        It is known where steps end.
    limited
        There is a limit; without one no garbage is collected.
    """
    plain = AllocatorSettings()
    expandable = AllocatorSettings(expandable_segments=True)
    offered = [recorded, plain, expandable]
    offered += [AllocatorSettings(max_split_bytes=size * MIB) for size in _MAX_SPLIT_MIB]
    offered += [AllocatorSettings(roundup_power2_divisions=uniform_divisions(n)) for n in _DIVISIONS]
    offered.append(replace(expandable, roundup_power2_divisions=uniform_divisions(8)))
    if limited:
        offered += [AllocatorSettings(garbage_collection_threshold=share) for share in _THRESHOLDS]
        offered.append(AllocatorSettings(max_split_bytes=128 * MIB, garbage_collection_threshold=0.8))
    if with_steps:
        offered += [replace(one, empty_cache_each_step=True) for one in (recorded, expandable)]
    return list(dict.fromkeys(offered))


class _Table:
    def __init__(
        self, store: SessionStore, device: int, devices: tuple[int, ...], limit_bytes: int | None, start: str
    ) -> None:
        blocks = find_allocations(store)
        self.store, self.device, self.devices, self.limit_bytes = store, device, devices, limit_bytes
        self.recording: Recording = find_requests(store, blocks, device)
        allocator = RecordedAllocator(store, blocks, self.recording)
        self.reserved, self.state = allocator.reserved_after(), allocator.state_at_start()
        sources = store.records("source")
        said: Any = sources[-1].meta.get("settings", {}) if sources else {}
        self.settings = recorded_settings(said)
        self.foreign = "cudaMallocAsync" in str(said)
        self.start = start if start == "recorded" and self.state is not None else "empty"

    def build(self, cancelled: Cancelled, progress: Progress) -> WhatIf:
        offered = offered_settings(
            self.settings, len(self.store.tables["step"]) > 0, self.limit_bytes is not None
        )
        parts = len(offered) + 1

        def part(number: int) -> Progress:
            return lambda share: progress((number + share) / parts)

        exactness = self._check(cancelled, part(0))
        rows = [self._row(one, cancelled, part(number)) for number, one in enumerate(offered, 1)]
        reference = rows[0].replay.peak_reserved_bytes
        rows = [
            replace(row, is_recorded=index == 0, difference_bytes=row.replay.peak_reserved_bytes - reference)
            for index, row in enumerate(rows)
        ]
        rows.sort(key=lambda row: (row.fits is False, row.replay.peak_reserved_bytes, not row.is_recorded))
        progress(1.0)
        return WhatIf(
            tuple(rows), exactness, tuple(self._notes()), self.device, self.devices, self._source(),
            self.start, self._peak_requested(), self.limit_bytes, self._recorded_limit(),
            self.recording.requests, self._curve(),
        )  # fmt: skip

    def _check(self, cancelled: Cancelled, progress: Progress) -> Exactness:
        requests = self.recording.requests
        if self.reserved is None or self.state is None or len(requests) == requests.listed:
            return Exactness("simulated")
        run = replay(
            requests, self.settings, state=self.state, as_recorded=True, cancelled=cancelled, report=progress
        )
        difference = (run.reserved_after(len(requests)) - self.reserved)[requests.listed :]
        largest = int(difference[np.argmax(np.abs(difference))])
        kind = "off" if largest else "exact"
        return Exactness(kind, largest, int(difference[-1]), run.same_addresses, run.allocations)

    def _row(self, settings: AllocatorSettings, cancelled: Cancelled, progress: Progress) -> WhatIfRow:
        state = self.state if self.start == "recorded" else None
        requests, limit = self.recording.requests, self.limit_bytes

        def run(limit_bytes: int | None) -> Replay:
            return replay(requests, settings, state=state, limit_bytes=limit_bytes, cancelled=cancelled,
                          report=progress)  # fmt: skip

        free = run(limit if settings.garbage_collection_threshold > 0 else None)
        limited = None
        if limit is not None:
            collected = settings.garbage_collection_threshold > 0
            limited = free if collected or free.peak_reserved_bytes <= limit else run(limit)
        return WhatIfRow(settings, False, free, limited, 0)

    def _source(self) -> str:
        if self.device < 0:
            return "cpu"
        return "trace" if self.recording.traced else "cuda"

    def _peak_requested(self) -> int:
        requests = self.recording.requests
        sign = (requests.kind == ALLOC).astype(np.int64) - (requests.kind == FREE)
        return int(np.cumsum(sign * requests.size_bytes).max(initial=0))

    def _curve(self) -> RecordedCurve | None:
        if self.reserved is None or not len(self.reserved):
            return None
        seen = self.reserved[min(self.recording.requests.listed, len(self.reserved) - 1) :]
        return RecordedCurve(self.reserved, int(seen.max()), int(seen[-1]))

    def _recorded_limit(self) -> int | None:
        """Return the least that the device can have had, from where it ran out of memory."""
        if self.reserved is None:
            return None
        trace = self.store.tables["trace"]
        ooms = [index for index in np.unique(trace["action"]) if self.store.string(int(index)) == "oom"]
        rows = np.flatnonzero(np.isin(trace["action"], ooms) & (trace["device"] == self.device))
        if not len(rows):
            return None
        at = np.searchsorted(self.recording.position, trace["alloc_row"][rows] * 2, side="right") - 1
        return int((self.reserved[np.clip(at, 0, None)] + trace["address"][rows].astype(np.int64)).max())

    def _notes(self) -> list[Note]:
        requests = self.recording.requests
        notes = [_SOURCE_NOTES[self._source()]]
        if self.start == "empty" and requests.listed:
            notes.append(Note(
                "start-empty", f"Each setting starts with an empty allocator, in which the {requests.listed:,} "
                "blocks from before the recording are made first: what the program had left in the cache "
                "by then is not in it.", {"blocks": requests.listed},
            ))  # fmt: skip
        elif self.start == "recorded":
            notes.append(_START_RECORDED)
        pools = len({pool for pool, _ in requests.places} - {""})
        if pools:
            notes.append(Note(
                "private-pools", f"{pools} private pools (CUDA graphs, MemPool) keep what they reserve to the "
                "end.", {"pools": pools},
            ))  # fmt: skip
        if self.recording.left_out:
            count = self.recording.left_out
            notes.append(Note("left-out", f"{count:,} blocks of impossible sizes are left out.", {"blocks": count}))
        if self.foreign:
            notes.append(_ASYNC)
        return notes


_NO_HISTORY = Note("no-history", "There is no history of requests, so there is nothing to replay.")
_START_RECORDED = Note(
    "start-recorded", "Each setting starts from what the allocator held when the recording began, as if it "
    "had been changed at that moment.",
)  # fmt: skip
_ASYNC = Note("async", "The program used cudaMallocAsync, whose rules are others than those of this model.")
_SOURCE_NOTES = {
    "trace": Note("source-trace", "Requests are those of the CUDA allocator's own trace."),
    "cuda": Note(
        "source-cuda", "Requests are CUDA blocks as large as the allocator rounded them: the program may have "
        "asked for a little less.",
    ),
    "cpu": Note(
        "source-cpu", "Simulated from CPU requests: what the same requests would need under the rules of "
        "the CUDA allocator. On a GPU a program makes other temporary blocks.",
    ),
}  # fmt: skip
