"""Curves of what is reserved and requested over time, for a small chart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.allocator_replay import Replay
from tensorscope.compute.allocator_requests import ALLOC, FREE, Requests
from tensorscope.models.what_if_result import WhatIf

Doubles = NDArray[np.float64]

COLUMNS = 2048
"""Parts of the time of which the requested curve keeps the most."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Points to join with straight lines; seconds since the session's origin."""

    t_s: Doubles
    size_bytes: Doubles


@dataclass(frozen=True, eq=False)
class WhatIfCurves:
    """All curves of a comparison, from the first request that was seen to the last.

    Attributes
    ----------
    held
        What the program asked for and had not freed.
    recorded
        What was reserved; None where that is not known.
    reserved
        One entry a row: within the limit, if there is one.
    """

    held: Curve
    recorded: Curve | None
    reserved: tuple[Curve, ...]


def curves_of(found: WhatIf) -> WhatIfCurves | None:
    """Return the curves; None where nothing was replayed. A hundredth of a second for a million requests."""
    requests = found.requests
    if requests is None or not len(requests):
        return None
    times = np.maximum.accumulate(requests.t_ns.astype(np.float64)) / 1e9
    first = min(requests.listed, len(times) - 1)
    recorded = None
    if found.recorded is not None:
        values = found.recorded.reserved_bytes[first:]
        change = np.flatnonzero(np.diff(values)) + 1
        recorded = _steps(times[first:], change, np.append(values[:1], values[change]))
    replays = (row.replay if row.limited is None else row.limited for row in found.rows)
    reserved = tuple(_reserved(requests, times, replay) for replay in replays)
    return WhatIfCurves(_held(requests, times, first), recorded, reserved)


def _reserved(requests: Requests, times: Doubles, replay: Replay) -> Curve:
    end = len(times) if replay.failure is None else replay.failure.request + 1
    first = min(requests.listed, end - 1)
    seen = replay.change_at >= requests.listed
    before = np.append(replay.start_reserved_bytes, replay.change_bytes[~seen])[-1:]
    levels = np.append(before, replay.change_bytes[seen])
    return _steps(times[first:end], replay.change_at[seen] - first, levels)


def _held(requests: Requests, times: Doubles, first: int) -> Curve:
    sign = (requests.kind == ALLOC).astype(np.int64) - (requests.kind == FREE)
    held, times = np.cumsum(sign * requests.size_bytes)[first:], times[first:]
    span = max(float(times[-1] - times[0]), 1e-12)
    column = np.minimum((times - times[0]) / span * COLUMNS, COLUMNS - 1).astype(np.int64)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    return Curve(times[starts], np.maximum.reduceat(held, starts).astype(np.float64))


def _steps(times: Doubles, change: NDArray[np.int64], levels: NDArray[np.int64]) -> Curve:
    """Return a level that changes at the indices `change` of `times`."""
    edges = np.concatenate([times[:1], times[change], times[-1:]])
    return Curve(np.repeat(edges, 2)[1:-1], np.repeat(levels, 2).astype(np.float64))
