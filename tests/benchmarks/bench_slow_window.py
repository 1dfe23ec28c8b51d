"""What a window that is killed, is stopped for 10 seconds or never reads costs training, in speed and memory.

Blocks with such a window alternate with plain blocks, as in bench_overhead. The outbox is made small, so
that it overflows within a block. What is said of the machine goes to stderr.

Run ``PYTHONPATH=src:. python tests/benchmarks/bench_slow_window.py [ROUNDS]``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable

from tensorscope.agent.runtime import Agent
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

STOPPED_SECONDS = 10.0
STEPS = 10
OUTBOX_BYTES = 1 << 20
KINDS = {"killed": signal.SIGKILL, "stopped": signal.SIGSTOP, "unread": None}


class Growth:
    """The most that a kind of window made the process grow."""

    def __init__(self) -> None:
        self.rss_bytes = 0
        self.held_bytes = 0
        self.dropped_frames = 0

    def watch(self, agent: Agent, step: Callable[[], None]) -> Callable[[], None]:
        """Return `step`, after each of which what the agent holds is looked at."""
        before = _rss_bytes()

        def watched() -> None:
            step()
            client = agent.courier._client
            held = agent.outbox.waiting_bytes + (client.queued_bytes if client else 0)
            self.held_bytes = max(self.held_bytes, held)
            self.rss_bytes = max(self.rss_bytes, _rss_bytes() - before)

        return watched


def _rss_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _block(kind: str, step: Callable[[], None], steps: int, growth: Growth) -> Times:
    with attached("scope", OUTBOX_BYTES, reads=kind != "unread") as (agent, window):
        timed(step, 3)
        signal_number = KINDS[kind]
        if signal_number is not None:
            window.send_signal(signal_number)
        times = timed(growth.watch(agent, step), steps, warm_up=1)
        client = agent.courier._client
        growth.dropped_frames += agent.outbox.dropped_frames + (client.dropped_frames if client else 0)
    return times


def main(rounds: int) -> None:
    """Print one JSON object a line."""
    step = make_step()
    before = timed(step, STEPS)
    stopped_steps = round(STOPPED_SECONDS / before.wall)
    for kind in KINDS:
        pairs, growth = Pairs(), Growth()
        for _ in range(rounds):
            wait_for_quiet(2.0)
            before = timed(step, STEPS, warm_up=1)
            found = _block(kind, step, stopped_steps if kind == "stopped" else STEPS, growth)
            pairs.add(before, found, timed(step, STEPS, warm_up=1))
        print(f"{kind}: plain step {before.wall * 1e3:.0f} ms; {pairs}; {machine()}", file=sys.stderr)
        for clock in CLOCKS:
            speed = round(1 / pairs.ratio(clock), 4)
            line = {"name": f"slow_window.{kind}.speed.{clock}", "value": speed, "unit": "x plain speed",
                    "peer": "plain training", "peer_value": 1.0, "ratio": speed}  # fmt: skip
            print(json.dumps(line), flush=True)
        for name, value in (("held", growth.held_bytes), ("rss_growth", growth.rss_bytes)):
            line = {
                "name": f"slow_window.{kind}.{name}", "value": value, "unit": "bytes",
                "peer": "outbox bound", "peer_value": OUTBOX_BYTES,
                "ratio": round(value / OUTBOX_BYTES, 4), "dropped_frames": growth.dropped_frames,
            }  # fmt: skip
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
