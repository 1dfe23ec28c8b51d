"""The model of the caching allocator against the real one, on a device."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tensorscope.models.session_loading import load_session
from tensorscope.models.what_if import what_if_table

PROGRAM = """
import random, sys, torch
torch.cuda.init()
torch.cuda.memory._record_memory_history(max_entries=1_000_000)
random.seed(1)
side, live = torch.cuda.Stream(), []
for act in range(4000):
    if live and random.random() < 0.46:
        live.pop(random.randrange(len(live)))
    elif act % 997 == 0:
        torch.cuda.empty_cache()
    else:
        stream = side if random.random() < 0.2 else torch.cuda.current_stream()
        with torch.cuda.stream(stream):
            live.append(torch.empty(int(2 ** random.uniform(6, 26)), dtype=torch.uint8, device="cuda"))
        if random.random() < 0.05:
            live[-1].record_stream(side)
torch.cuda.synchronize()
torch.cuda.memory._dump_snapshot(sys.argv[1])
"""


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device, or a torch without CUDA")
@pytest.mark.parametrize(
    "setting",
    ["", "expandable_segments:True", "max_split_size_mb:40", "roundup_power2_divisions:4"],
)
def test_that_the_model_reserves_what_the_real_allocator_does(tmp_path: Path, setting: str) -> None:
    path = tmp_path / "snapshot.pickle"
    environment = os.environ | {"PYTORCH_CUDA_ALLOC_CONF": setting}
    subprocess.run([sys.executable, "-c", PROGRAM, str(path)], check=True, env=environment, timeout=120)
    found = what_if_table(load_session(path).store)
    assert found.reference_row is not None
    assert found.reference_row.settings.environment == setting
    assert found.exactness.kind == "exact"
    assert found.exactness.same_addresses == found.exactness.allocations > 1000
