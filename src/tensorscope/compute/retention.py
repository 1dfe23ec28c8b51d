"""Which blocks of which step are still alive when a recording ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AllocRows:
    """Columns of the ``alloc`` stream, (n_events,) each, in the order of recording."""

    address: NDArray[np.uint64]
    delta_bytes: Longs
    device: NDArray[np.int16]
    step: NDArray[np.int32]
    category: NDArray[np.uint8]
    module: NDArray[np.uint32]


def alive_at_end(rows: AllocRows) -> Longs:
    """Return the indices of the allocations that no later event of their address ends, ascending."""
    count = len(rows.address)
    if not count:
        return np.empty(0, np.int64)
    order = np.lexsort((np.arange(count), rows.address, rows.device))
    address, device = rows.address[order], rows.device[order]
    last = np.ones(count, bool)
    last[:-1] = (address[1:] != address[:-1]) | (device[1:] != device[:-1])
    final = order[last]
    return np.sort(final[rows.delta_bytes[final] > 0])


def bytes_by_step(rows: AllocRows, alive: Longs, steps: Longs) -> Longs:
    """Return, for each of the ascending `steps`, the bytes allocated in it and alive at the end."""
    found = np.zeros(len(steps), np.int64)
    at = np.searchsorted(steps, rows.step[alive])
    inside = at < len(steps)
    inside[inside] = steps[at[inside]] == rows.step[alive][inside]
    np.add.at(found, at[inside], rows.delta_bytes[alive][inside])
    return found


def longest_tail(grew: NDArray[np.bool_]) -> int:
    """Return how many of the last entries are all true."""
    stops = np.flatnonzero(~grew)
    return len(grew) - 1 - int(stops[-1]) if len(stops) else len(grew)
