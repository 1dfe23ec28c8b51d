"""How fast the allocator model replays requests; the floor is a bare Python loop over the same events."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np

from tensorscope.compute.allocator_replay import replay
from tensorscope.compute.allocator_requests import ALLOC, FREE, Requests
from tensorscope.compute.allocator_settings import MIB, AllocatorSettings, uniform_divisions

SETTINGS = {
    "defaults": AllocatorSettings(),
    "expandable_segments": AllocatorSettings(expandable_segments=True),
    "max_split_size": AllocatorSettings(max_split_bytes=64 * MIB),
    "roundup_power2_divisions": AllocatorSettings(roundup_power2_divisions=uniform_divisions(8)),
}


def steady_requests(events: int, seed: int = 0) -> Requests:
    """Return steps of a training program: blocks made and freed in nested order, of repeating sizes."""
    random = np.random.default_rng(seed)
    sizes = (2 ** random.uniform(9, 25, 1200)).astype(np.int64)
    kind, block, number, live = [], [], 0, []
    while len(kind) < events:
        for _ in range(1200):
            kind.append(ALLOC)
            block.append(number)
            live.append(number)
            number += 1
            if random.random() < 0.6:
                kind.append(FREE)
                block.append(live.pop(-1 - int(random.random() ** 3 * min(len(live), 20))))
        while len(live) > 300:
            kind.append(FREE)
            block.append(live.pop())
    numbers = np.array(block[:events])
    zeros = np.zeros(events, np.int64)
    return Requests(
        kind=np.array(kind[:events], np.uint8), block=numbers, size_bytes=sizes[numbers % 1200], place=zeros,
        address=zeros.astype(np.uint64), t_ns=np.arange(events), places=(("", 0),), blocks=number, listed=0,
    )  # fmt: skip


def bare_loop(requests: Requests) -> int:
    """Walk over the same columns, keep what is held, decide nothing."""
    held = [0] * requests.blocks
    total = most = 0
    columns = (requests.kind.tolist(), requests.block.tolist(), requests.size_bytes.tolist())
    for kind, number, size in zip(*columns, strict=True):
        if kind == ALLOC:
            held[number] = size
            total += size
            most = max(most, total)
        elif kind == FREE:
            total -= held[number]
    return most


def least_s(work: Callable[[], object], rounds: int) -> float:
    """Return the least CPU time of several rounds, which other programs disturb least."""
    found = []
    for _ in range(rounds):
        begin = time.process_time()
        work()
        found.append(time.process_time() - begin)
    return min(found)


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, nargs="*", default=[22_332, 100_000, 770_700])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    results = []
    for events in arguments.events:
        requests = steady_requests(events)
        floor = least_s(lambda requests=requests: bare_loop(requests), arguments.rounds)
        row = {"events": events, "bare_loop_s": round(floor, 4)}
        for name, settings in SETTINGS.items():
            took = least_s(lambda r=requests, s=settings: replay(r, s), arguments.rounds)
            row[name] = {
                "s": round(took, 4), "events_per_s": round(events / took),
                "times_the_floor": round(took / floor, 1),
            }  # fmt: skip
        results.append(row)
    print(json.dumps({"benchmark": "what_if", "results": results}, indent=2))


if __name__ == "__main__":
    main()
