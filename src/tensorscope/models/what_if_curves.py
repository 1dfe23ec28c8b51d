"""Curves of what is reserved and requested over time, for a small chart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.allocator_replay import Replay
from tensorscope.compute.allocator_requests import ALLOC, FREE
from tensorscope.models.what_if_result import WhatIf

Doubles = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve:
    """Points to join with straight lines; seconds since the session's origin."""

    t_s: Doubles
    size_bytes: Doubles


def reserved_curve(found: WhatIf, replay: Replay) -> Curve:
    """Return what one setting reserves, level between requests that change it."""
    times, requests = _times(found), found.requests
    if requests is None or not len(times):
        return Curve(times, times)
    first = min(requests.listed, len(times) - 1)
    seen = replay.change_at >= requests.listed
    levels = np.concatenate([[replay.start_reserved_bytes], replay.change_bytes[~seen]])[-1:]
    last = len(times) - 1 if replay.failure is None else replay.failure.request
    edges = np.concatenate([times[[first]], times[replay.change_at[seen]], times[[last]]])
    return _steps(edges, np.concatenate([levels, replay.change_bytes[seen]]))


def recorded_curve(found: WhatIf) -> Curve | None:
    """Return what the recorded allocator reserved; None where that is not known."""
    times = _times(found)
    if found.recorded is None or found.requests is None or not len(times):
        return None
    values = found.recorded.reserved_bytes[found.requests.listed :]
    if not len(values):
        return None
    times = times[found.requests.listed :]
    change = np.flatnonzero(np.diff(values)) + 1
    return _steps(
        np.append(np.append(times[0], times[change]), times[-1]), np.append(values[0], values[change])
    )


def requested_curve(found: WhatIf, columns: int) -> Curve:
    """Return what the program held, the most in each of `columns` parts of the time."""
    requests, times = found.requests, _times(found)
    if requests is None or not len(times):
        return Curve(times, times)
    sign = (requests.kind == ALLOC).astype(np.int64) - (requests.kind == FREE)
    held = np.cumsum(sign * requests.size_bytes)[requests.listed :]
    times = times[requests.listed :]
    span = max(times[-1] - times[0], 1e-12) if len(times) else 1.0
    column = np.minimum(((times - times[:1]) / span * columns).astype(np.int64), columns - 1)
    first = np.flatnonzero(np.diff(column, prepend=-1))
    if not len(first):
        return Curve(times, times)
    return Curve(times[first], np.maximum.reduceat(held, first).astype(np.float64))


def _times(found: WhatIf) -> Doubles:
    if found.requests is None:
        return np.empty(0, np.float64)
    times = found.requests.t_ns.astype(np.float64) / 1e9
    return np.maximum.accumulate(times) if len(times) else times


def _steps(edges: Doubles, levels: NDArray[np.int64]) -> Curve:
    return Curve(np.repeat(edges, 2)[1:-1], np.repeat(levels, 2).astype(np.float64))
