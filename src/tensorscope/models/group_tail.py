"""Continues a grouping with the events that came after it, without pairing everything again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.live_bytes import LiveBytes
from tensorscope.models.allocations import Allocations
from tensorscope.models.frozen_store import StoreLike

Longs = NDArray[np.int64]

_UNKNOWN = -1


class GroupTail:
    """Appends new events to `live`, as long as it is certain in which series they belong.

    An allocation belongs in the series of its label, one with a new label in the last if that holds
    all others; a free in the one of its block. A label without a series, a free of a block that was
    never seen and a baseline stop it for good: then the grouping has to be made anew.

    Parameters
    ----------
    column
        Column of the ``alloc`` table that decides, and `label` what its values mean.
    device
        Only events of this device; None for all.
    """

    def __init__(
        self, live: LiveBytes, column: str, label: Callable[[StoreLike, int], str], device: int | None
    ) -> None:
        self._live, self._column, self._label, self._device = live, column, label, device
        self._series_of: dict[str, int] = {}
        self._known: dict[int, int] = {}
        self._held: dict[tuple[int, int], int] = {}
        self._fallback = _UNKNOWN
        self._baselines = 0
        self.rows = 0
        """How many rows of the ``alloc`` table are in."""
        self.stopped = False

    def begin(self, blocks: Allocations, series: Longs, labels: list[str], others: bool) -> None:
        """Take in what is alive at the end of `blocks`, each of whose series is known."""
        self.rows, self._baselines = len(blocks.owner), len(blocks.listed)
        self._series_of = {name: index for index, name in enumerate(labels[: len(labels) - others])}
        self._fallback = len(labels) - 1 if others else _UNKNOWN
        alive = blocks.alive_before(self.rows)
        places = zip(blocks.device[alive].tolist(), blocks.address[alive].tolist(), strict=True)
        self._held = dict(zip(places, series[alive].tolist(), strict=True))

    def extend(self, store: StoreLike, stop: int) -> None:
        """Take in the rows up to `stop`."""
        records = store.records("baseline")
        if len(records) > self._baselines:
            at = records[self._baselines].rows["alloc"]
            self.stopped |= at <= stop
            stop = min(stop, at)
        if stop <= self.rows:
            return
        table, span = store.tables["alloc"], slice(self.rows, stop)
        rows = np.arange(self.rows, stop, dtype=np.int64)
        if self._device is not None:
            rows = rows[table["device"][span] == self._device]
        series = self._place(store, rows)
        taken = rows[: len(series)]
        self._live.append(table["t_ns"][taken] - store.origin_ns, table["delta_bytes"][taken], series, taken)
        complete = len(taken) == len(rows)
        self.rows = stop if complete else int(rows[len(taken)])
        self.stopped |= not complete

    def _place(self, store: StoreLike, rows: Longs) -> Longs:
        """Return the series of each row, up to the first of which it is not certain."""
        table, found = store.tables["alloc"], []
        columns = (table[name][rows].tolist() for name in ("device", "address", "delta_bytes", self._column))
        for device, address, delta, value in zip(*columns, strict=True):
            place = device, address
            if delta >= 0:
                series = self._held[place] = self._series(store, value)
            else:
                series = self._held.pop(place, _UNKNOWN)
            if series == _UNKNOWN:
                break
            found.append(series)
        return np.array(found, np.int64)

    def _series(self, store: StoreLike, value: int) -> int:
        series = self._known.get(value)
        if series is None:
            series = self._known[value] = self._series_of.get(self._label(store, value), self._fallback)
        return series
