"""One training step as the recorder or as torch.profiler sees it, printed as JSON. Run as a script.

    python -m tests.agent.allocator_twin recorder|profiler mlp|conv|gpt foreach|single

Both twins do the same from the same seed. The printed rows are (bytes, whether the block is younger
than the step), in the order in which torch reported them.
"""

from __future__ import annotations

import json
import os
import sys

os.environ["KINETO_LOG_LEVEL"] = "99"

import torch

from tests.agent.allocator_cases import CASES
from tests.agent.allocator_harness import Harness, values

WARM_UP = 3


def main(who: str, case: str, foreach: str) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    make_model, make_input = CASES[case]
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters(), foreach=foreach == "foreach")
    harness = Harness(model, optimizer)
    if who == "recorder":
        harness.start()
    for _ in range(WARM_UP):
        batch = train_step(harness, make_input, who)
    if who == "recorder":
        batch = train_step(harness, make_input, who)
        print(json.dumps(recorded(harness)))
        harness.capture.stop()
        return
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profile:
        batch = train_step(harness, make_input, who)
    print(json.dumps(profiled(profile)))
    del batch


def train_step(harness: Harness, make_input, who: str) -> torch.Tensor:
    """Do the same torch calls for both; only the recorder's twin calls the capture.

    The batch is returned, so that in both it lives until the next one is made.
    """
    optimizer = harness.optimizer
    optimizer.zero_grad()
    batch = make_input()
    if who == "recorder":
        harness.train_step_on(batch)
        return batch
    loss = harness.model(batch).square().mean()
    loss.backward()
    del loss
    optimizer.step()
    return batch


def recorded(harness: Harness) -> list[tuple[int, bool]]:
    frame = [frame for frame in harness.frames if frame.kind == "alloc"][-1]
    young: set[int] = set()
    rows = []
    for address, delta in zip(values(frame, "address"), values(frame, "delta_bytes"), strict=True):
        if delta > 0:
            young.add(address)
        rows.append((delta, address in young))
        if delta < 0:
            young.discard(address)
    return rows


def profiled(profile) -> list[tuple[int, bool]]:
    rows: list[tuple[int, int]] = []

    def visit(node) -> None:
        if node.tag.name == "Allocation":
            rows.append((node.start_time_ns, len(rows), node.extra_fields.alloc_size))
        for child in node.children:
            visit(child)

    for root in profile.profiler.kineto_results.experimental_event_tree():
        visit(root)
    return [(size, True) for _, _, size in sorted(rows)]


if __name__ == "__main__":
    main(*sys.argv[1:])
