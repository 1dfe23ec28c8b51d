"""Steps and phases of a file, from what its program called its spans of time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.core.schema import PHASES

Longs = NDArray[np.int64]

PROFILER_STEP = re.compile(r"ProfilerStep\s*#(\d+)")
OPTIMIZER_STEP = re.compile(r"Optimizer\.step#")
_OPTIMIZER = PHASES.index("optimizer")


@dataclass(frozen=True, eq=False)
class Spans:
    """Named spans of time; times are the file's clock in ns."""

    name: list[str]
    t0_ns: Longs
    t1_ns: Longs


@dataclass(frozen=True, eq=False)
class Steps:
    """Columns of the ``step`` and ``phase`` streams that a file can give."""

    number: Longs
    t0_ns: Longs
    t1_ns: Longs
    optimizer: Spans

    def step_of(self, t_ns: Longs) -> Longs:
        """Return the step that each moment lies in; the one that never ended counts, too."""
        if not len(self.number):
            return np.zeros(len(t_ns), np.int64)
        return np.searchsorted(self.t1_ns, t_ns, side="left") + int(self.number[0])


def find_steps(spans: Spans, first_ns: int) -> Steps:
    """Return the steps in `spans`: the profiler's, else one up to the end of each optimizer step."""
    optimizer = _matching(spans, OPTIMIZER_STEP)
    profiled = _matching(spans, PROFILER_STEP)
    ends = profiled.t1_ns if len(profiled.name) else optimizer.t1_ns
    ends = np.unique(ends)
    if len(profiled.name):
        found = PROFILER_STEP.search(profiled.name[0])
        first = int(found.group(1)) if found else 0
        first = first if first < 2**30 else 0
        begin = int(profiled.t0_ns.min())
    else:
        first, begin = 0, first_ns
    begins = np.concatenate([[min(begin, first_ns)], ends[:-1]]) if len(ends) else ends
    return Steps(first + np.arange(len(ends)), begins.astype(np.int64), ends, optimizer)


def _matching(spans: Spans, pattern: re.Pattern[str]) -> Spans:
    at = [index for index, name in enumerate(spans.name) if pattern.search(name)]
    order = sorted(at, key=lambda index: int(spans.t1_ns[index]))
    return Spans([spans.name[i] for i in order], spans.t0_ns[order], spans.t1_ns[order])


def paired_spans(names: list[str], stage: NDArray[Any], device: NDArray[Any], t_ns: Longs) -> Spans:
    """Return the spans of begins (0) and ends (1), nested by name and device; unpaired ones are left out."""
    waiting: dict[tuple[str, int], list[int]] = {}
    found: list[tuple[str, int, int]] = []
    for name, what, where, at in zip(names, stage.tolist(), device.tolist(), t_ns.tolist(), strict=True):
        begun = waiting.setdefault((name, where), [])
        if what == 0:
            begun.append(at)
        elif begun:
            found.append((name, begun.pop(), at))
    found.sort(key=lambda span: span[1])
    return Spans(
        [span[0] for span in found],
        np.array([span[1] for span in found], np.int64),
        np.array([span[2] for span in found], np.int64),
    )


def step_columns(steps: Steps, live: Longs, peak: Longs) -> dict[str, NDArray[Any]]:
    """Return the ``step`` stream; `live` and `peak` are bytes at the end of each step and at its highest."""
    count = len(steps.number)
    optimizer = np.zeros(count, np.int64)
    for t0, t1 in zip(steps.optimizer.t0_ns.tolist(), steps.optimizer.t1_ns.tolist(), strict=True):
        row = int(np.searchsorted(steps.t1_ns, t1, side="left"))
        if row < count:
            optimizer[row] += t1 - t0
    zeros, unknown = np.zeros(count, "i8"), np.full(count, np.nan)
    times = np.maximum(steps.t1_ns - steps.t0_ns, 0)
    return {
        "step": steps.number.astype("i4"), "t0_ns": steps.t0_ns, "t1_ns": steps.t1_ns, "forward_ns": zeros,
        "backward_ns": zeros, "optimizer_ns": np.minimum(optimizer, times), "loss": unknown,
        "grad_norm": unknown, "backwards": zeros.astype("i4"),
        "optimizer_steps": (optimizer > 0).astype("i4"), "live_bytes": live, "peak_bytes": peak,
        "rss_bytes": zeros - 1, "agent_ns": zeros, "level": np.ones(count, "u1"),
        "variant": zeros.astype("u4"),
    }  # fmt: skip


def phase_columns(steps: Steps) -> dict[str, NDArray[Any]]:
    """Return the ``phase`` stream: only the optimizer's, since annotations tell of no other."""
    spans = steps.optimizer
    return {
        "step": steps.step_of(spans.t1_ns).astype("i4"),
        "phase": np.full(len(spans.name), _OPTIMIZER, "u1"), "t0_ns": spans.t0_ns, "t1_ns": spans.t1_ns,
    }  # fmt: skip
