"""What the lab shows: the variants of one program compared fairly, from the step table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.robust_stats import Interval, median_interval, paired_ratio, percentile
from tensorscope.core.schema import LEVELS
from tensorscope.models.session_store import SessionStore

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]

WARM_UP_STEPS = 2
"""Steps left out after each switch, and at the start: the first ones pay for caches and compilation."""
MAX_ROWS = 50_000
MIN_PAIRS = 6
"""Block pairs that a 95 % interval of a median needs at least."""
MAX_CHART_POINTS = 4_000
DEEP = LEVELS.index("deep")


@dataclass(frozen=True)
class LabIntent:
    """Which steps to compare: those from `first_step` on, after `warm_up` steps of each block."""

    first_step: int = 0
    warm_up: int = WARM_UP_STEPS


@dataclass(frozen=True)
class VariantRow:
    """One variant, over its measured steps.

    Attributes
    ----------
    time_ms
        Median step time with its 95 % interval.
    ratio
        Median over pairs of neighbouring blocks of (this variant / plain); None for plain itself.
        Its count is the number of pairs.
    warm_up, deep
        Steps that were left out, and why.
    """

    variant: str
    time_ms: Interval
    p95_ms: float
    peak_bytes: float
    loss: float
    warm_up: int
    deep: int
    ratio: Interval | None
    verdict: str


@dataclass(frozen=True, eq=False)
class Block:
    """Neighbouring steps of one variant: their rows that count."""

    variant: int
    rows: Longs


@dataclass(frozen=True, eq=False)
class LabSnapshot:
    """A frozen comparison. `truncated`: only the newest `MAX_ROWS` steps were looked at."""

    rows: tuple[VariantRow, ...]
    chart_step: Longs
    chart_ms: Floats
    chart_variant: Longs
    chart_used: NDArray[np.bool_]
    chart_top_ms: float
    truncated: bool


FASTER, SLOWER, SAME, FEW = "faster", "slower", "same", "few"


def resolve(store: SessionStore, intent: LabIntent) -> LabSnapshot:
    """Compare the variants that ran; pure, a few milliseconds for `MAX_ROWS` steps."""
    table = store.tables["step"]
    begin = max(int(np.searchsorted(table["step"], intent.first_step)), len(table) - MAX_ROWS)
    data = {name: table[name][begin:] for name in table.names}
    ms = (data["t1_ns"] - data["t0_ns"]) / 1e6
    used, warm = _used(data, intent.warm_up)
    blocks = _blocks(data["variant"], used)
    variants = _in_order(blocks)
    rows = tuple(_row(store, variant, data, ms, used, warm, blocks) for variant in variants)
    every = np.arange(len(ms))[:: max(1, -(-len(ms) // MAX_CHART_POINTS))]
    class_of = {variant: index for index, variant in enumerate(variants)}
    classes = np.array([class_of[int(v)] for v in data["variant"][every]], np.int64)
    return LabSnapshot(
        rows, data["step"][every].astype(np.int64), ms[every], classes, used[every],
        chart_top_ms=4 * percentile(ms[used] if used.any() else ms, 95),
        truncated=begin > 0 and begin == len(table) - MAX_ROWS,
    )  # fmt: skip


def _in_order(blocks: list[Block]) -> list[int]:
    """Return the variants with plain (string 0) first, then as they first appeared."""
    return sorted(dict.fromkeys(block.variant for block in blocks), key=lambda variant: variant != 0)


def _used(data: dict[str, NDArray[Any]], warm_up: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows count, and which are warm-up; deep steps are neither."""
    count = len(data["step"])
    starts = _starts(data["variant"])
    since = np.arange(count) - starts[np.searchsorted(starts, np.arange(count), side="right") - 1]
    deep = data["level"] == DEEP
    warm = (since < warm_up) & ~deep
    return ~warm & ~deep, warm


def _starts(variant: NDArray[Any]) -> Longs:
    return np.concatenate([[0], 1 + np.flatnonzero(np.diff(variant.astype(np.int64)))])


def _blocks(variant: NDArray[Any], used: NDArray[np.bool_]) -> list[Block]:
    if not len(variant):
        return []
    starts = _starts(variant)
    stops = np.append(starts[1:], len(variant))
    return [Block(int(variant[a]), a + np.flatnonzero(used[a:b])) for a, b in zip(starts, stops, strict=True)]


def _row(
    store: SessionStore,
    variant: int,
    data: dict[str, NDArray[Any]],
    ms: Floats,
    used: NDArray[np.bool_],
    warm: NDArray[np.bool_],
    blocks: list[Block],
) -> VariantRow:
    mine = data["variant"] == variant
    rows = np.flatnonzero(mine & used)
    peaks = data["peak_bytes"][rows]
    ratio = None if variant == 0 else _ratio(variant, ms, blocks)
    return VariantRow(
        variant=store.string(variant), time_ms=median_interval(ms[rows]), p95_ms=percentile(ms[rows], 95),
        peak_bytes=float(peaks.max()) if len(peaks) and peaks.max() >= 0 else math.nan,
        loss=percentile(data["loss"][rows], 50), warm_up=int((mine & warm).sum()),
        deep=int((mine & (data["level"] == DEEP)).sum()), ratio=ratio,
        verdict="" if ratio is None else verdict(ratio),
    )  # fmt: skip


def _ratio(variant: int, ms: Floats, blocks: list[Block]) -> Interval:
    """Return this variant over plain, block by block.

    Each block is compared with the mean (of logarithms) of the plain blocks right before and
    after it, so a drift that both share cancels. A pair is a block, not a step: steps of one
    block are not independent.
    """
    logs = [math.log(np.median(ms[b.rows])) if len(b.rows) else math.nan for b in blocks]
    base, other = [], []
    for at, block in enumerate(blocks):
        near = [
            logs[n]
            for n in (at - 1, at + 1)
            if 0 <= n < len(blocks) and blocks[n].variant == 0 and math.isfinite(logs[n])
        ]
        if block.variant == variant and near and math.isfinite(logs[at]):
            base.append(math.exp(sum(near) / len(near)))
            other.append(math.exp(logs[at]))
    return paired_ratio(np.array(base), np.array(other))


def verdict(ratio: Interval) -> str:
    """Return `FASTER` or `SLOWER` only where the whole interval says so, `FEW` without one."""
    if not ratio.known:
        return FEW
    if ratio.high < 1:
        return FASTER
    return SLOWER if ratio.low > 1 else SAME
