"""The command in a process of its own, and scripts for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TINY = """
import sys
import torch
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
steps = int(sys.argv[1])
wrong = int(sys.argv[2]) if len(sys.argv) > 2 else -1
for step in range(steps):
    inputs = torch.randn(4, 7 if step == wrong else 8)
    optimizer.zero_grad()
    model(inputs).square().mean().backward()
    optimizer.step()
    if step == 0:
        print("first step", flush=True)
print("finished", steps)
"""
"""Trains for argv[1] steps; step argv[2], if given, fails in forward."""


def tensorscope(
    *arguments: object, cwd: Path | None = None, timeout: float = 120, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command and return what it said."""
    return subprocess.run(
        [sys.executable, "-m", "tensorscope", *map(str, arguments)],
        capture_output=True, text=True, timeout=timeout, cwd=cwd, check=False, stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )  # fmt: skip


def without_display() -> dict[str, str]:
    """Return this environment as it is on a machine with no screen."""
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    return {name: value for name, value in os.environ.items() if name not in hidden}


def tiny_script(folder: Path) -> Path:
    """Write `TINY` into `folder` and return its path."""
    path = folder / "tiny.py"
    path.write_text(TINY)
    return path
