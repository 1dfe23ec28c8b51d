"""Small models and plain training steps for tests of deep capture and toggles."""

from __future__ import annotations

import hashlib

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=0.1, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Gpt(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.embed, self.norm, self.attn = nn.Embedding(32, width), nn.LayerNorm(width), Attention(width)
        self.drop, self.mlp, self.head = nn.Dropout(0.2), nn.Linear(width, width), nn.Linear(width, 32)

    def forward(self, tokens):
        x = self.embed(tokens)
        x = x + self.attn(self.norm(x))
        return self.head(x + self.drop(nn.functional.gelu(self.mlp(x))))


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 4))


def conv() -> nn.Module:
    parts = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 4)]
    return nn.Sequential(*parts)


MODELS = {"mlp": mlp, "conv": conv, "gpt": Gpt}


class Run:
    """One training run from a fixed seed. `step` is what a user would write."""

    def __init__(self, kind: str) -> None:
        torch.manual_seed(7)
        self.kind = kind
        self.model = MODELS[kind]()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)

    def batch(self):
        if self.kind == "gpt":
            return torch.randint(0, 32, (2, 6)), torch.randint(0, 32, (12,))
        shape = (4, 8) if self.kind == "mlp" else (4, 3, 6, 6)
        return torch.randn(shape), torch.randint(0, 4, (4,))

    def step(self) -> torch.Tensor:
        inputs, targets = self.batch()
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(inputs).flatten(0, -2), targets)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def digest(self) -> str:
        """Hash of parameters, buffers, gradients, optimizer state and the random state."""
        parts = [*self.model.state_dict().values(), *(p.grad for p in self.model.parameters())]
        parts += [value for state in self.optimizer.state.values() for value in state.values()]
        parts.append(torch.get_rng_state())
        out = hashlib.sha256()
        for part in parts:
            out.update(bytes(part.contiguous().view(-1).view(torch.uint8).tolist()) if part.numel() else b"")
        return out.hexdigest()


def fingerprint(model: nn.Module) -> list:
    """What a toggle or a capture could leave behind on the modules."""
    return [
        (
            name,
            type(module),
            sorted(module.__dict__),
            len(module._forward_hooks),
            len(module._forward_pre_hooks),
        )
        for name, module in model.named_modules()
    ]
