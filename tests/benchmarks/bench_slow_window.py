"""What a window that is stopped (SIGSTOP) costs training, in speed and in memory.

Blocks with a stopped window alternate with plain blocks. Run
``PYTHONPATH=src:. python tests/benchmarks/bench_slow_window.py [ROUNDS]``.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from tests.benchmarks.attached_training import attached, make_step, median, timed

STEPS = 25
OUTBOX_BYTES = 1 << 20  # so that it overflows within a block


def _rss_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(rounds: int) -> None:
    """Print one JSON object a line."""
    step = make_step()
    timed(step, 10)
    before = timed(step, STEPS)
    ratios, growths, dropped = [], [], 0
    for _ in range(rounds):
        with attached("scope", OUTBOX_BYTES) as (agent, window):
            timed(step, 4)
            window.send_signal(signal.SIGSTOP)
            rss = _rss_bytes()
            found = timed(step, STEPS)
            growths.append(_rss_bytes() - rss)
            bound = agent.outbox.bound_bytes
            client = agent.courier._client
            dropped += agent.outbox.dropped_frames + (client.dropped_frames if client else 0)
        after = timed(step, STEPS)
        ratios.append((2 * found[0] / (before[0] + after[0]), 2 * found[1] / (before[1] + after[1])))
        before = after
    for index, clock in enumerate(("wall", "cpu")):
        speed = 1 / median([pair[index] for pair in ratios])
        line = {"name": f"stopped_window.speed.{clock}", "value": round(speed, 4), "unit": "x plain speed",
                "peer": "plain training", "peer_value": 1.0, "ratio": round(speed, 4)}  # fmt: skip
        print(json.dumps(line))
    growth = max(growths)
    line = {"name": "stopped_window.growth", "value": growth, "unit": "bytes", "peer": "outbox bound",
            "peer_value": bound, "ratio": round(growth / bound, 4), "dropped_frames": dropped}  # fmt: skip
    print(json.dumps(line))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
