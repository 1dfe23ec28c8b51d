"""What being attached costs a training step, beside what torch.profiler costs it.

Blocks of each kind alternate with plain blocks in one process; a block counts relative to the plain
blocks before and after it, and the median of these ratios is printed: by the clock, and by CPU time
(which other programs on the machine disturb less).

Run ``PYTHONPATH=src:. python tests/benchmarks/bench_overhead.py [ROUNDS]``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

import torch

from tests.benchmarks.attached_training import attached, make_step, median, timed

STEPS = 10
Times = tuple[float, float]


def _plain(step: Callable[[], None]) -> Times:
    return timed(step, STEPS)


def _attached(level: str) -> Callable[[Callable[[], None]], Times]:
    def block(step: Callable[[], None]) -> Times:
        with attached(level):
            return timed(step, STEPS)

    return block


def _profiled(step: Callable[[], None]) -> Times:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True):
        return timed(step, STEPS)


def main(rounds: int) -> None:
    """Print one JSON object a line."""
    os.environ["KINETO_LOG_LEVEL"] = "99"
    kinds = {"pulse": _attached("pulse"), "scope": _attached("scope"), "profiler": _profiled}
    ratios: dict[str, list[Times]] = {kind: [] for kind in kinds}
    step = make_step()
    timed(step, 5)
    before = _plain(step)
    for _ in range(rounds):
        for kind, block in kinds.items():
            found = block(step)
            after = _plain(step)
            wall, cpu = (2 * f / (b + a) for f, b, a in zip(found, before, after, strict=True))
            ratios[kind].append((wall, cpu))
            before = after
    for index, clock in enumerate(("wall", "cpu")):
        peer = median([pair[index] for pair in ratios["profiler"]])
        for kind in ("pulse", "scope"):
            value = median([pair[index] for pair in ratios[kind]])
            line = {
                "name": f"overhead.{kind}.{clock}", "value": round(value, 4), "unit": "x plain step",
                "peer": "torch.profiler(profile_memory=True)", "peer_value": round(peer, 4),
                "ratio": round(value / peer, 4),
            }  # fmt: skip
            print(json.dumps(line))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 11)
