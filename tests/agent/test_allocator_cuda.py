"""The recorder on CUDA, against the caching allocator's own counts."""

from __future__ import annotations

import pytest
import torch

from tensorscope.agent.capture.cuda_blocks import merge_segments
from tensorscope.agent.capture.labels import OWNED, Labels
from tensorscope.core.schema import CATEGORIES
from tests.agent.allocator_cases import TinyGpt, mlp, tokens
from tests.agent.allocator_harness import Harness, Replay

needs_cuda = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="no CUDA device, or a torch without CUDA"
)


def test_that_a_snapshot_gives_blocks_their_size_and_adds_the_unnamed() -> None:
    labels = Labels()
    labels.add(0x1000, 100, 0, 0, "weight")
    blocks = [
        {"address": 0x1000, "size": 512, "state": "active_allocated"},
        {"address": 0x1200, "size": 1024, "state": "inactive"},
        {"address": 0x1600, "size": 2048, "state": "active_allocated"},
        {"address": 0x1E00, "size": 512, "state": "active_pending_free"},
    ]
    merge_segments(labels, [{"device": 0, "blocks": blocks}])
    assert labels.addresses.tolist() == [0x1000, 0x1600]
    assert labels.sizes.tolist() == [512, 2048]
    assert [CATEGORIES[c] for c in labels.categories] == ["parameter", "unknown"]
    assert labels.storages().tolist() == [0, OWNED]


def allocated() -> int:
    return torch.cuda.memory_stats()["allocated_bytes.all.current"]


@pytest.mark.gpu
@needs_cuda
@pytest.mark.parametrize("case", ["mlp", "gpt"])
@pytest.mark.parametrize("foreach", [False, True])
def test_that_totals_are_the_allocators_own_at_every_boundary(case: str, foreach: bool) -> None:
    model = (mlp() if case == "mlp" else TinyGpt()).cuda()
    stranger = torch.zeros(1000, device="cuda")  # nobody's name, older than the recording
    optimizer = torch.optim.AdamW(model.parameters(), foreach=foreach)
    with Harness(model, optimizer) as harness:
        for _ in range(5):
            torch.cuda.reset_peak_memory_stats()
            harness.train_step(
                lambda: torch.randn(16, 32, device="cuda") if case == "mlp" else tokens().cuda()
            )
            replay = Replay(harness.frames)
            assert replay.live(device=0) == allocated()
        peak = torch.cuda.memory_stats()["allocated_bytes.all.peak"]
        assert harness.context.memory_totals()[1] - replay.live(device=-1) == pytest.approx(peak, abs=1 << 16)
        del stranger
        harness.boundary()
        assert Replay(harness.frames).live(device=0) == allocated()
    seen = {CATEGORIES[category] for _, _, category in replay.seen}
    assert seen >= {"activation", "temporary", "input", "gradient"}


@pytest.mark.gpu
@needs_cuda
def test_that_a_failed_allocation_on_cuda_is_told() -> None:
    with Harness(mlp().cuda()) as harness:
        with pytest.raises(torch.cuda.OutOfMemoryError):
            torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
        harness.boundary()
        assert "out-of-memory" in harness.notices()
