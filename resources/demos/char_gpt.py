"""Train a small character-level GPT on the source text of the Python standard library.

Plain PyTorch: a model, AdamW, dropout, and a validation split that is never trained on. It runs
anywhere Python does, because its data is Python itself. Stop it with Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sysconfig
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

MAX_TEXT_BYTES = 4_000_000


def read_corpus(max_bytes: int = MAX_TEXT_BYTES) -> str:
    """Return the standard library's top-level modules as one text, in the same order everywhere."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    texts, total = [], 0
    for path in sorted(folder.glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        texts.append(text)
        total += len(text)
        if total >= max_bytes:
            break
    return "\n".join(texts)[:max_bytes]


class Corpus:
    """A text as character ids, its last tenth kept for validation."""

    def __init__(self, text: str, context: int) -> None:
        # Whatever is not ASCII shares one id: the vocabulary stays small, and an id fits a byte.
        common = sorted(c for c in set(text) if c.isascii())
        self.ids = {character: number for number, character in enumerate(common, 1)}
        self.vocabulary = len(common) + 1
        self.context = context
        data = torch.tensor([self.ids.get(character, 0) for character in text], dtype=torch.uint8)
        split = int(len(data) * 0.9)
        self.parts = {"train": data[:split], "validation": data[split:]}

    def batch(self, part: str, size: int) -> tuple[Tensor, Tensor]:
        """Return inputs and the characters that follow them, both (size, context) int64."""
        data = self.parts[part]
        starts = torch.randint(len(data) - self.context - 1, (size,))
        rows = torch.stack([data[start : start + self.context + 1] for start in starts.tolist()])
        return rows[:, :-1].long(), rows[:, 1:].long()


class Attention(nn.Module):
    """Causal self-attention."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Mix (batch, time, width) along time."""
        batch, time, width = x.shape
        qkv = self.qkv(x).view(batch, time, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        dropout = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, time, width))


class Mlp(nn.Module):
    """Two linear layers with a GELU between."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.act = nn.GELU()
        self.down = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each position alone."""
        return self.drop(self.down(self.act(self.up(x))))


class Block(nn.Module):
    """Attention and MLP, each behind a normalisation and beside a residual."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads, dropout)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width, dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Add what attention and MLP find."""
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    """Characters in, scores of the next character out."""

    def __init__(
        self, vocabulary: int, context: int, layers: int, heads: int, width: int, dropout: float
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.position = nn.Parameter(torch.zeros(context, width))
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.apply(self._initialise)

    @staticmethod
    def _initialise(module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)

    def forward(self, ids: Tensor) -> Tensor:
        """Return (batch, time, vocabulary) scores for (batch, time) ids."""
        x = self.drop(self.embed(ids) + self.position[: ids.shape[1]])
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def loss_of(model: Gpt, inputs: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross entropy of the next character, in nats."""
    scores = model(inputs)
    return functional.cross_entropy(scores.view(-1, scores.shape[-1]), targets.view(-1))


@torch.no_grad()
def validate(model: Gpt, corpus: Corpus, batch_size: int, batches: int = 4) -> float:
    """Return the mean loss on text that was never trained on."""
    model.eval()
    losses = [loss_of(model, *corpus.batch("validation", batch_size)).item() for _ in range(batches)]
    model.train()
    return sum(losses) / len(losses)


def parse() -> argparse.Namespace:
    """Return the command line's settings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--context", type=int, default=96)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--heads", type=int, default=6)
    parser.add_argument("--width", type=int, default=192)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 1) // 2))
    parser.add_argument("--validate-every", type=int, default=50)
    return parser.parse_args()


def main() -> None:
    """Train, print the loss now and then."""
    settings = parse()
    torch.set_num_threads(settings.threads)
    torch.manual_seed(settings.seed)
    corpus = Corpus(read_corpus(), settings.context)
    model = Gpt(
        corpus.vocabulary, settings.context, settings.layers, settings.heads, settings.width, settings.dropout
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, weight_decay=0.1)
    count = sum(parameter.numel() for parameter in model.parameters())
    print(f"{count / 1e6:.2f} M parameters, {len(corpus.parts['train']) / 1e6:.2f} M characters", flush=True)
    for step in range(settings.steps):
        inputs, targets = corpus.batch("train", settings.batch_size)
        optimizer.zero_grad()
        loss = loss_of(model, inputs, targets)
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step:6d}  loss {loss.item():.3f}", flush=True)
        if step and step % settings.validate_every == 0:
            found = validate(model, corpus, settings.batch_size)
            print(f"step {step:6d}  validation loss {found:.3f}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("stopped", flush=True)
