from __future__ import annotations

import pytest
import torch

from tensorscope.core.schema import CATEGORIES
from tests.agent.allocator_harness import Harness, Replay, mlp


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)
    torch.manual_seed(0)


def test_that_sums_hold_at_every_event_of_an_mlp_with_adam() -> None:
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters())
    with Harness(model, optimizer) as harness:
        for _ in range(4):
            harness.train_step(lambda: torch.randn(16, 32))
        assert harness.capture.recorder_kind == "native"
        live, peak = harness.context.memory_totals()
        replay = Replay(harness.frames)
        assert live == replay.live()
        assert peak <= replay.peak
    by_name = dict(zip(CATEGORIES, replay.by_category, strict=True))
    parameters = sum(p.untyped_storage().nbytes() for p in model.parameters())
    assert by_name["parameter"] == parameters
    assert by_name["gradient"] == parameters
    assert by_name["optimizer_state"] == 2 * parameters + 4 * len(list(model.parameters()))
    assert {c for _, _, c in replay.seen} >= {
        CATEGORIES.index(n) for n in ("activation", "temporary", "input")
    }
