"""What being attached costs a step of the demo, beside what torch.profiler costs it.

Short blocks of each kind alternate with plain blocks in one process; a block counts relative to the plain
blocks before and after it, and the median of these ratios is printed. By the clock, only blocks count
during which other programs left the machine alone; CPU time is that of the whole process, and that of the
training thread. What is said of the machine goes to stderr.

Run ``PYTHONPATH=src:. python tests/benchmarks/bench_overhead.py [ROUNDS]``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

import torch

from tests.benchmarks.attached_training import (
    CLOCKS,
    Pairs,
    Times,
    attached,
    machine,
    make_step,
    timed,
    wait_for_quiet,
)

STEPS = 4


def _plain(step: Callable[[], None]) -> Times:
    return timed(step, STEPS, warm_up=1)


def _attached(level: str) -> Callable[[Callable[[], None]], Times]:
    def block(step: Callable[[], None]) -> Times:
        with attached(level):
            return timed(step, STEPS)  # the first step attaches

    return block


def _profiled(step: Callable[[], None]) -> Times:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True):
        return timed(step, STEPS, warm_up=1)


def main(rounds: int) -> None:
    """Print one JSON object a line."""
    os.environ["KINETO_LOG_LEVEL"] = "99"
    kinds = {"pulse": _attached("pulse"), "scope": _attached("scope"), "profiler": _profiled}
    pairs = {kind: Pairs() for kind in kinds}
    step = make_step()
    before = timed(step, 5)
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}; {machine()}", file=sys.stderr)
        for kind, block in kinds.items():
            wait_for_quiet(2.0)
            before = _plain(step)
            found = block(step)
            pairs[kind].add(before, found, _plain(step))
    print(f"plain step {before.wall * 1e3:.0f} ms; {machine()}", file=sys.stderr)
    for kind, some in pairs.items():
        print(f"{kind}: {some}", file=sys.stderr)
    for clock in CLOCKS:
        peer = pairs["profiler"].ratio(clock)
        for kind in ("pulse", "scope"):
            value = pairs[kind].ratio(clock)
            line = {
                "name": f"overhead.{kind}.{clock}", "value": round(value, 4), "unit": "x plain step",
                "peer": "torch.profiler(profile_memory=True)", "peer_value": round(peer, 4),
                "ratio": round(value / peer, 4),
            }  # fmt: skip
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 11)
