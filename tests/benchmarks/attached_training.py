"""The demo's training step, with and without an agent in this process and a window in another.

One training thread, so that on two cores the agent's thread and the window have the other one.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import torch

from tensorscope.agent.options import Options
from tensorscope.agent.outbox import DEFAULT_BOUND_BYTES
from tensorscope.agent.runtime import Agent
from tensorscope.agent.watch import start
from tensorscope.core.resource_paths import resource_path

WINDOW = """
import socket, sys, time
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
print("connected", flush=True)
while sys.argv[2] != "reads":
    time.sleep(60)
while connection.recv(1 << 20):
    pass
"""
QUIET_CORES = 0.3
"""A block counts by the clock while other programs used less than this much of a core."""
CLOCKS = ("wall", "process_cpu", "thread_cpu", "thread_best")


class Times(NamedTuple):
    """Seconds of a step (medians of a block): by the clock, CPU of the process, of this thread.

    `thread_best` is the least CPU that a step of this thread took, which others disturb least;
    `foreign` is how many cores all other programs of the machine used meanwhile.
    """

    wall: float
    process_cpu: float
    thread_cpu: float
    thread_best: float
    foreign: float


def make_step() -> Callable[[], None]:
    """Return a function that trains one step of the demo at its defaults, of about 150 to 400 ms."""
    torch.manual_seed(1)
    torch.set_num_threads(1)
    spec = importlib.util.spec_from_file_location("char_gpt", resource_path("demos/char_gpt.py"))
    assert spec is not None
    assert spec.loader is not None
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    corpus = demo.Corpus(demo.read_corpus(), 96)
    model = demo.Gpt(corpus.vocabulary, 96, layers=6, heads=6, width=192, dropout=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)

    def step() -> None:
        inputs, targets = corpus.batch("train", 8)
        optimizer.zero_grad()
        demo.loss_of(model, inputs, targets).backward()
        optimizer.step()

    return step


@contextlib.contextmanager
def attached(
    level: str, outbox_bytes: int = DEFAULT_BOUND_BYTES, reads: bool = True
) -> Iterator[tuple[Agent, subprocess.Popen[str]]]:
    """An agent at `level`, and a window in another process that reads and throws away, or never reads."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "agent.sock"
        agent = start(
            Options(address=f"unix:{path}", level=level, deep_first=False, outbox_bytes=outbox_bytes)
        )
        command = [sys.executable, "-S", "-c", WINDOW, str(path), "reads" if reads else "never"]
        window = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert window.stdout is not None
            window.stdout.readline()
            while not agent.courier.has_sink:
                time.sleep(0.01)
            yield agent, window
        finally:
            agent.detach("The block is over.")
            window.kill()
            window.communicate()


def timed(step: Callable[[], None], steps: int, warm_up: int = 2) -> Times:
    """Return the times of a step, medians of `steps`."""
    rows: list[tuple[float, float, float]] = []
    for _ in range(warm_up):
        step()
    since, busy = time.perf_counter(), _foreign_seconds()
    for _ in range(steps):
        wall, process, thread = time.perf_counter(), time.process_time(), time.thread_time()
        step()
        rows.append((time.perf_counter() - wall, time.process_time() - process, time.thread_time() - thread))
    foreign = (_foreign_seconds() - busy) / (time.perf_counter() - since)
    wall, process, thread = (median(list(column)) for column in zip(*rows, strict=True))
    return Times(wall, process, thread, min(row[2] for row in rows), foreign)


def wait_for_quiet(patience_seconds: float = 120.0) -> None:
    """Wait until other programs leave the machine alone, or until patience has run out."""
    deadline = time.monotonic() + patience_seconds
    while time.monotonic() < deadline:
        busy = _foreign_seconds()
        time.sleep(1.0)
        if _foreign_seconds() - busy < QUIET_CORES:
            return


class Pairs:
    """Blocks of some kind, each beside the plain blocks before and after it."""

    def __init__(self) -> None:
        self._ratios: list[Times] = []
        self._plain_bests: list[float] = []
        self._bests: list[float] = []

    def add(self, before: Times, found: Times, after: Times) -> None:
        """Add one block."""
        self._plain_bests += [before.thread_best, after.thread_best]
        self._bests.append(found.thread_best)
        rows = zip(found[:4], before[:4], after[:4], strict=True)
        wall, process, thread, best = (2 * f / (b + a) for f, b, a in rows)
        foreign = max(before.foreign, found.foreign, after.foreign)
        self._ratios.append(Times(wall, process, thread, best, foreign))

    def ratio(self, clock: str) -> float:
        """Return the median ratio; by the clock, of quiet blocks where there are some.

        Of `thread_best`, the ratio of the lower quartiles over all blocks.
        """
        if clock == "thread_best":
            plain, found = sorted(self._plain_bests), sorted(self._bests)
            return found[len(found) // 4] / plain[len(plain) // 4]
        rows = [row for row in self._ratios if row.foreign < QUIET_CORES]
        rows = rows if clock == "wall" and len(rows) >= 3 else self._ratios
        return median([float(getattr(row, clock)) for row in rows])

    def __str__(self) -> str:
        quiet = sum(row.foreign < QUIET_CORES for row in self._ratios)
        foreign = median([row.foreign for row in self._ratios])
        return f"{quiet} of {len(self._ratios)} pairs quiet, others used {foreign:.2f} cores (median)"


def machine() -> str:
    """Return what the machine did just now."""
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    return f"load {load} on {os.cpu_count()} cores, torch {torch.__version__}"


def median(values: list[float]) -> float:
    """Return the median, NaN of nothing."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    if not ordered:
        return math.nan
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _foreign_seconds() -> float:
    """CPU seconds of all programs but this one since the machine started."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    ticks = user + nice + system + irq + softirq + steal
    return ticks / os.sysconf("SC_CLK_TCK") - time.process_time()
