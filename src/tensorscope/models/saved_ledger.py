"""What each module keeps for backward, and what checkpointing it would save: a prediction.

The model of a checkpoint of module M (`torch.utils.checkpoint`, not reentrant): what only M's nodes saved
and what M itself made is freed when M's forward ends; it is made again when backward reaches M, that is
before the first of it is freed, together with the most that M's forward needed beside it; from then on
everything goes as it went. M's inputs, parameters, and what nodes outside of M saved, too, stay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.peaks import level_of
from tensorscope.core.schema import PHASES
from tensorscope.models.allocations import Allocations, find_allocations
from tensorscope.models.frozen_store import StoreLike
from tensorscope.models.session_store import Record

Longs = NDArray[np.int64]

_BACKWARD = PHASES.index("backward")
_RNG_STATE_BYTES = 5_056
"""What a checkpoint keeps of the CPU's random numbers (`torch.get_rng_state`) from forward to backward."""


@dataclass(frozen=True)
class LedgerRow:
    """What one module (with all inside) keeps for backward in the step of the graph.

    Attributes
    ----------
    own_bytes
        Saved by nodes of the module itself, not of those inside it.
    saved_bytes, tensors
        Saved by the module and all inside; a storage counts once, parameters and buffers not at all.
    dropped_bytes
        Of those, what checkpointing the module would free until backward.
    predicted_peak_bytes
        The step's peak with it; -1 where that cannot be said: the step's events are not recorded, or
        the module is only a container that is never called.
    recompute_ns
        Forward time of the module, which would be spent twice; -1 unknown.
    """

    module: str
    depth: int
    own_bytes: int
    saved_bytes: int
    tensors: int
    dropped_bytes: int
    predicted_peak_bytes: int
    recompute_ns: int


@dataclass(frozen=True)
class SavedLedger:
    """`rows` by path; `by_node` is (grad_fn name, bytes, tensors), the most bytes first."""

    step: int
    saved_bytes: int
    peak_bytes: int
    rows: tuple[LedgerRow, ...]
    by_node: tuple[tuple[str, int, int], ...]

    def plan(self, budget_bytes: int) -> tuple[LedgerRow, ...]:
        """Return modules, none within another, that bring the prediction under `budget_bytes`.

        Greedy: the most dropped bytes for the time they cost first. The sum of what they drop is
        an upper bound; the prediction of each is exact within its model.
        """
        chosen: list[LedgerRow] = []
        missing = self.peak_bytes - budget_bytes
        gains = [row for row in self.rows if row.module and self.peak_bytes > row.predicted_peak_bytes >= 0]
        for row in sorted(
            gains, key=lambda row: (-row.dropped_bytes / (1 + max(0, row.recompute_ns)), row.module)
        ):
            if missing <= 0:
                break
            if all(not _related(row.module, other.module) for other in chosen):
                chosen.append(row)
                missing -= self.peak_bytes - row.predicted_peak_bytes
        return tuple(chosen)


def saved_ledger(
    store: StoreLike, blocks: Allocations | None = None, step: int | None = None
) -> SavedLedger | None:
    """Return the ledger of a deep step (the newest), None where no graph was captured; any thread."""
    graphs = [record for record in store.records("graph") if step is None or record.step == step]
    if not graphs:
        return None
    blocks = find_allocations(store) if blocks is None else blocks
    return _Ledger(store, blocks, graphs[-1]).make()


def inside(path: str, module: str) -> bool:
    """Return whether `path` is `module` or lies in it; everything lies in the root, ""."""
    return not module or path == module or path.startswith(module + ".")


def _related(one: str, other: str) -> bool:
    return inside(one, other) or inside(other, one)


class _Ledger:
    def __init__(self, store: StoreLike, blocks: Allocations, graph: Record) -> None:
        self.store, self.blocks, self.graph = store, blocks, graph
        columns = graph.columns
        owner = columns["node_module"][columns["saved_node"]]
        self.paths = [store.string(int(one)) for one in owner]
        self.nodes = [store.string(int(one)) for one in columns["node_name"][columns["saved_node"]]]
        self.storage = columns["saved_storage"].astype(np.uint64)
        self.bytes = columns["saved_bytes"].astype(np.int64)
        self.counted = self._counted()
        rows = store.tables["alloc"]["step"]
        self.first = int(np.searchsorted(rows, graph.step, side="left"))
        self.last = int(np.searchsorted(rows, graph.step, side="right"))
        self.block_of = self._blocks_of()
        self.made_in = [
            store.string(int(blocks.module[b])) if b >= 0 else None for b in self.block_of.tolist()
        ]

    def _counted(self) -> NDArray[np.bool_]:
        """Say which entries count: the first of each storage that no parameter or buffer lies in."""
        lasting = set[int]()
        for record in self.store.records("tensors"):
            if record.step == self.graph.step:
                mine = np.isin(record.columns["role"], (0, 3))  # parameter, buffer
                lasting |= set(record.columns["storage"][mine].tolist())
        first = np.zeros(len(self.storage), bool)
        _, at = np.unique(self.storage, return_index=True)
        first[at] = True
        first &= ~np.isin(self.storage, np.array(sorted(lasting), np.uint64)) & (self.storage != 0)
        return first

    def _blocks_of(self) -> Longs:
        """Return the block that lived at each entry's address when backward began; -1 if none."""
        table = self.store.tables["alloc"]
        phases = table["phase"][self.first : self.last]
        back = np.flatnonzero(phases == _BACKWARD)
        at = self.first + (int(back[0]) if len(back) else len(phases))
        alive = self.blocks.alive_before(at)
        place = {int(a): int(b) for a, b in zip(self.blocks.address[alive], alive, strict=True)}
        return np.array([place.get(int(address), -1) for address in self.storage], np.int64)

    def make(self) -> SavedLedger:
        level = self._level(np.empty(0, np.int64), -1, -1, 0)
        peak = int(level.max()) if len(level) else -1
        modules = sorted({part for path in self.paths for part in _ancestors(path)} | {""})
        rows = tuple(self._row(module, peak) for module in modules)
        total = int(self.bytes[self.counted].sum())
        return SavedLedger(self.graph.step, total, peak, rows, self._by_node())

    def _by_node(self) -> tuple[tuple[str, int, int], ...]:
        found: dict[str, list[int]] = {}
        for name, size, counts in zip(self.nodes, self.bytes.tolist(), self.counted.tolist(), strict=True):
            if counts:
                held = found.setdefault(name, [0, 0])
                held[0], held[1] = held[0] + size, held[1] + 1
        return tuple(sorted(((n, b, c) for n, (b, c) in found.items()), key=lambda row: -row[1]))

    def _row(self, module: str, peak: int) -> LedgerRow:
        mine = np.array([inside(path, module) for path in self.paths], bool)
        own = np.array([path == module for path in self.paths], bool) & self.counted
        counted = mine & self.counted
        dropped = self._dropped(module, mine)
        begin_ns, end_ns, spent = self._forward_of(module)
        predicted = -1 if end_ns < 0 else peak
        if peak >= 0 and len(dropped) and module and end_ns >= 0:
            predicted = self._predicted(dropped, begin_ns, end_ns)
        return LedgerRow(
            module, module.count(".") + 1 if module else 0, int(self.bytes[own].sum()),
            int(self.bytes[counted].sum()), int(counted.sum()),
            int(self.blocks.size_bytes[dropped].sum()) if module and end_ns >= 0 else 0, predicted, spent,
        )  # fmt: skip

    def _dropped(self, module: str, mine: NDArray[np.bool_]) -> Longs:
        """Return the blocks that only the module's nodes saved, and that it made itself."""
        outside = set(self.storage[~mine].tolist())
        found = set[int]()
        for at in np.flatnonzero(mine & np.isin(self.storage, self.storage[self.counted])).tolist():
            made_in = self.made_in[at]
            if made_in is not None and inside(made_in, module) and int(self.storage[at]) not in outside:
                found.add(int(self.block_of[at]))
        return np.array(sorted(found), np.int64)

    def _forward_of(self, module: str) -> tuple[int, int, int]:
        """Return begin and end of the module's forward since the origin, and the time of all calls, in ns."""
        table = self.store.tables["module"]
        ids = [
            index for index in np.unique(table["module"]).tolist() if self.store.string(int(index)) == module
        ]
        rows = np.flatnonzero((table["step"] == self.graph.step) & np.isin(table["module"], ids))
        if not len(rows):
            return -1, -1, -1
        t0, t1, origin = table["t0_ns"][rows], table["t1_ns"][rows], self.store.origin_ns
        return int(t0.min()) - origin, int(t1.max()) - origin, int((t1 - t0).sum())

    def _predicted(self, dropped: Longs, begin_ns: int, end_ns: int) -> int:
        blocks = self.blocks
        origin, t_ns = self.store.origin_ns, self.store.tables["alloc"]["t_ns"]
        enters = int(np.searchsorted(t_ns, begin_ns + origin))
        leaves = int(np.searchsorted(t_ns, end_ns + origin, side="right"))
        again = int(blocks.until_row[dropped].min())
        if not enters <= leaves <= again:
            return -1
        plain = self._level(np.empty(0, np.int64), -1, -1, 0)
        begin, end = enters - self.first, leaves - self.first
        needed = int(plain[max(0, begin) : end + 1].max() - plain[max(0, begin)])
        kept = int(plain[min(end, len(plain) - 1)] - plain[max(0, begin)])
        return int(self._level(dropped, leaves, again, max(0, needed - kept)).max())

    def _level(self, dropped: Longs, leaves: int, again: int, extra_bytes: int) -> Longs:
        """Return the live bytes before each row of the step, with `dropped` away between two rows."""
        blocks, rows = self.blocks, self.last
        level = level_of(blocks.from_row, blocks.until_row, blocks.size_bytes, rows)
        if len(dropped):
            away = np.zeros(rows + 1, np.int64)
            size = int(blocks.size_bytes[dropped].sum())
            away[leaves : max(leaves, again - 1)] = size
            level = level - away
            level[leaves : max(leaves, again)] += _RNG_STATE_BYTES
            if 0 < again <= rows:
                level[again - 1] += extra_bytes
        return level[self.first : self.last + 1]


def _ancestors(path: str) -> list[str]:
    parts = path.split(".") if path else []
    return [".".join(parts[:count]) for count in range(len(parts) + 1)]
