"""Time to read an autograd graph before backward, a node. One JSON object a line.

    python -m tests.benchmarks.bench_graph_capture

The peer reads each node as torchviz does with ``show_saved``: ``dir(node)`` on every node. Times are the
smallest of several, of CPU, on graphs of a character transformer and of a long recurrent net.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from tensorscope.agent.capture.graph_walk import GraphWalk
from tests.agent.deep_harness import Harness

ROUNDS = 7


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


def gpt(blocks: int) -> tuple[nn.Module, torch.Tensor]:
    model = nn.Sequential(nn.Embedding(96, 32), *(Block(32) for _ in range(blocks)), nn.Linear(32, 96))
    return model, model(torch.randint(0, 96, (2, 16))).logsumexp(-1).mean()


def recurrent(steps: int) -> tuple[nn.Module, torch.Tensor]:
    cell, state = nn.LSTMCell(8, 8), (torch.zeros(1, 8), torch.zeros(1, 8))
    for _ in range(steps):
        state = cell(torch.ones(1, 8), state)
    return cell, state[0].sum()


def naive(loss: torch.Tensor) -> int:
    """Visit the graph with ``dir`` on every node, iteratively: recursion ends at 1,000 nodes."""
    seen, todo, saved = set(), [loss.grad_fn], 0
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        for name in dir(node):
            if name.startswith("_raw_saved_") and getattr(getattr(node, name), "data", None) is not None:
                saved += 1
        todo += [child for child, _ in node.next_functions if child is not None]
    return len(seen)


def microseconds(read: Callable[[], Any], nodes: int) -> float:
    times = []
    for _ in range(ROUNDS):
        begun = time.process_time_ns()
        read()
        times.append(time.process_time_ns() - begun)
    return min(times) / 1000 / nodes


def main() -> None:
    for name, (model, loss) in {"gpt12": gpt(12), "gpt96": gpt(96), "lstm1000": recurrent(1000)}.items():
        context = Harness(model).context
        nodes = naive(loss)
        ours = microseconds(lambda loss=loss, context=context: GraphWalk(context, None).add([loss]), nodes)
        peer = microseconds(lambda loss=loss: naive(loss), nodes)
        line = {
            "name": f"graph_walk_{name}", "value": round(ours, 2), "unit": "us/node", "nodes": nodes,
            "peer": "dir(node), as torchviz", "peer_value": round(peer, 2), "ratio": round(ours / peer, 3),
        }  # fmt: skip
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
