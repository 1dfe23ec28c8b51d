"""Memory on a real device: counts, a real failure with its autopsy, fragmentation and streams."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import torch

from tensorscope.models.allocator_history import AllocatorHistory
from tensorscope.models.allocator_state import allocator_state
from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.verdicts import find_verdicts
from tests.e2e.test_recorded_programs import record

needs_cuda = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="no CUDA device, or a torch without CUDA"
)
HEAD = """
    import torch
    net = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def step():
        loss = net(torch.randn(256, 512, device="cuda")).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    for _ in range(4):
        step()
"""


def store_of(tmp_path: Path, body: str):
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(HEAD) + textwrap.dedent(body))
    return record(tmp_path, script).store


@pytest.mark.gpu
@needs_cuda
def test_that_counts_of_each_phase_are_the_allocators_own(tmp_path: Path) -> None:
    store = store_of(tmp_path, "for _ in range(6):\n    step()\n")
    table = store.tables["device_memory"]
    assert set(table["phase"].tolist()) == {1, 2, 3}
    assert (table["reserved_bytes"] >= table["allocated_bytes"]).all()
    assert (table["used_bytes"][table["phase"] == 3] >= table["reserved_bytes"][table["phase"] == 3]).all()


@pytest.mark.gpu
@needs_cuda
def test_that_a_real_failure_is_explained(tmp_path: Path) -> None:
    body = """
        torch.cuda.set_per_process_memory_fraction(2**30 / torch.cuda.mem_get_info()[1])
        kept = []
        try:
            while True:
                kept.append(torch.empty(64 << 20, dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError:
            kept.clear()
        step()
    """
    store = store_of(tmp_path, body)
    assert any(one.meta["reason"] == "oom" for one in store.records("segments"))
    failures = [verdict for verdict in find_verdicts(FrozenStore(store)) if verdict.severity == "error"]
    assert failures
    assert failures[0].evidence["requested_bytes"] == 64 << 20
    assert failures[0].evidence["used_bytes"] > 500 << 20


@pytest.mark.gpu
@needs_cuda
def test_that_fragmentation_and_streams_are_seen(tmp_path: Path) -> None:
    body = """
        kept = [torch.empty(4 << 20, dtype=torch.uint8, device="cuda") for _ in range(64)]
        del kept[::2]
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            other = torch.empty(32 << 20, dtype=torch.uint8, device="cuda")
        try:
            torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
        except (torch.OutOfMemoryError, RuntimeError):
            pass
        step()
    """
    store = store_of(tmp_path, body)
    history = AllocatorHistory(FrozenStore(store))
    state = allocator_state(history, history.events - 1)
    assert state.used_bytes + int(state.free_bytes.sum()) == state.reserved_bytes
    assert len(set(history.segments.stream.tolist())) == 2
