"""What a recorded program would have needed under other settings of CUDA's caching allocator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tensorscope.compute.allocator_replay import Replay, replay
from tensorscope.compute.allocator_requests import ALLOC, FREE
from tensorscope.compute.allocator_settings import (
    MIB,
    AllocatorSettings,
    recorded_settings,
    uniform_divisions,
)  # fmt: skip
from tensorscope.compute.cancelling import Cancelled
from tensorscope.models.allocations import find_allocations
from tensorscope.models.allocator_requests import Recording, devices_of, find_requests
from tensorscope.models.frozen_store import StoreLike
from tensorscope.models.recorded_allocator import RecordedAllocator
from tensorscope.models.what_if_notes import (
    NO_HISTORY,
    OTHER_ALLOCATOR,
    SOURCES,
    START_RECORDED,
    left_out,
    private_pools,
    start_empty,
)
from tensorscope.models.what_if_result import Exactness, Note, RecordedCurve, WhatIf, WhatIfRow

Progress = Callable[[float], None]
"""Called with the share that is done, 0 to 1."""

_MAX_SPLIT_MIB = (64, 128, 256, 512)
_DIVISIONS = (4, 8, 16)
_THRESHOLDS = (0.6, 0.8)


def what_if_table(
    store: StoreLike, limit_bytes: int | None = None, *, device: int | None = None,
    start: str = "empty", cancelled: Cancelled = lambda: False, progress: Progress = lambda _: None,
) -> WhatIf:  # fmt: skip
    """Replay the requests of one device under each setting that is worth a try.

    Parameters
    ----------
    store
        Nobody may write to it meanwhile: give another thread a `FrozenStore`.
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
        return WhatIf((), Exactness("simulated"), (NO_HISTORY,), devices=devices)
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
        self, store: StoreLike, device: int, devices: tuple[int, ...], limit_bytes: int | None, start: str
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
            replace(row, is_reference=index == 0, difference_bytes=row.replay.peak_reserved_bytes - reference)
            for index, row in enumerate(rows)
        ]
        rows.sort(key=_place)
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
        difference = run.reserved_after(len(requests)) - self.reserved
        settled = np.append(np.diff(self.recording.position) > 0, True)  # all of one moment is done
        settled[: requests.listed] = False
        difference = difference[settled]
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
        notes = [SOURCES[self._source()]]
        if self.start == "recorded":
            notes.append(START_RECORDED)
        elif requests.listed:
            notes.append(start_empty(requests.listed))
        pools = len({pool for pool, _ in requests.places} - {""})
        if pools:
            notes.append(private_pools(pools))
        if self.recording.left_out:
            notes.append(left_out(self.recording.left_out))
        if self.foreign:
            notes.append(OTHER_ALLOCATOR)
        return notes


def _place(row: WhatIfRow) -> tuple[bool, bool, int, bool]:
    """Return what rows are sorted by: what fits first, then by peak; last what has no whole peak."""
    cut = row.replay.failure is not None
    return row.fits is False, cut, row.replay.peak_reserved_bytes, not row.is_reference
