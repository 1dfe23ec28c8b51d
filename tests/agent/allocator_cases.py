"""Small models with what makes allocations interesting, and inputs for them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 8))


class Conv(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2)
        )
        self.head = nn.Linear(8 * 7 * 7, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x).flatten(1))


class TinyGpt(nn.Module):
    def __init__(self, checkpointed: bool = False) -> None:
        super().__init__()
        self.embed = nn.Embedding(32, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 32)
        self.checkpointed = checkpointed

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        x = checkpoint(self.blocks, x, use_reentrant=False) if self.checkpointed else self.blocks(x)
        return self.head(x)


class Resizing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(16, 16)
        self.register_buffer("scratch", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.scratch.resize_(self.scratch.numel() + 64).zero_()
        return self.linear(x).mul_(2.0).add_(self.scratch.sum())


def tokens() -> torch.Tensor:
    return torch.randint(0, 32, (4, 16))


CASES: dict[str, tuple[Callable[[], nn.Module], Callable[[], torch.Tensor]]] = {
    "mlp": (mlp, lambda: torch.randn(16, 32)),
    "conv": (Conv, lambda: torch.randn(4, 3, 16, 16)),
    "gpt": (TinyGpt, tokens),
    "gpt-checkpointed": (lambda: TinyGpt(True), tokens),
    "resizing": (Resizing, lambda: torch.randn(8, 16)),
}
