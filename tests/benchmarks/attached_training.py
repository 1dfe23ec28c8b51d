"""A small GPT that trains here, with and without an agent in this process and a window in another."""

from __future__ import annotations

import contextlib
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import nn

from tensorscope.agent.options import Options
from tensorscope.agent.outbox import DEFAULT_BOUND_BYTES
from tensorscope.agent.runtime import Agent
from tensorscope.agent.watch import start

DRAIN = """
import socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
print("connected", flush=True)
while connection.recv(1 << 20):
    pass
"""


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.out(mixed.transpose(1, 2).reshape(x.shape)))
        return x + self.drop(self.down(nn.functional.gelu(self.up(self.norm2(x)))))


class Gpt(nn.Module):
    def __init__(self, width: int = 160, blocks: int = 4, length: int = 64, words: int = 96) -> None:
        super().__init__()
        self.words, self.length = words, length
        self.embed, self.position = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, 4) for _ in range(blocks)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        x = self.embed(text) + self.position(torch.arange(text.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def make_step(batch: int = 8) -> Callable[[], None]:
    """Return a function that trains one step of about 50 to 100 ms."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = Gpt()
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4)

    def step() -> None:
        text = torch.randint(0, net.words, (batch, net.length + 1))
        loss = nn.functional.cross_entropy(net(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


@contextlib.contextmanager
def attached(
    level: str, outbox_bytes: int = DEFAULT_BOUND_BYTES
) -> Iterator[tuple[Agent, subprocess.Popen[str]]]:
    """An agent at `level`, and a window in another process that reads and throws away."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "agent.sock"
        agent = start(
            Options(address=f"unix:{path}", level=level, deep_first=False, outbox_bytes=outbox_bytes)
        )
        window = subprocess.Popen([sys.executable, "-c", DRAIN, path], stdout=subprocess.PIPE, text=True)
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


def timed(step: Callable[[], None], steps: int, warm_up: int = 2) -> tuple[float, float]:
    """Return the median seconds and CPU seconds of a step."""
    walls, cpus = [], []
    for i in range(warm_up + steps):
        wall, cpu = time.perf_counter(), time.process_time()
        step()
        if i >= warm_up:
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
    return median(walls), median(cpus)


def median(values: list[float]) -> float:
    """Return the median, NaN of nothing."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    if not ordered:
        return math.nan
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
