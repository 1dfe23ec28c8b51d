"""Agents inside the test process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from tensorscope.agent.options import Options
from tensorscope.agent.runtime import Agent
from tensorscope.agent.watch import start
from tests.agent.window import Window


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """An agent that listens, in this thread, without captures of memory (see their own tests)."""
    os.environ.pop("TENSORSCOPE_DEBUG", None)
    running = start(Options(address=f"unix:{tmp_path}/a.sock", deep_first=False))
    yield running
    running.detach("The test is over.")


@pytest.fixture
def window(agent: Agent) -> Iterator[Window]:
    with Window(agent.courier.address) as found:
        found.wait(lambda: agent.courier.has_sink)
        yield found


@pytest.fixture
def train() -> Callable[[int], None]:
    """One small model; calling trains it for some steps."""
    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def run(steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            net(torch.ones(2, 4)).sum().backward()
            optimizer.step()

    return run
