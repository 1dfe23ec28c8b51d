"""Whether the program uses `torch.compile`, and what we must not do to it then."""

from __future__ import annotations

import sys


def uses_compile() -> bool:
    """Return whether something has been given to `torch.compile` in this process.

    Forward hooks and modes would be traced into what is compiled, and a dispatch mode runs it eagerly.
    """
    frames = sys.modules.get("torch._dynamo.eval_frame")
    # torch's own "run eagerly" decorators leave a backend of None there.
    backends = getattr(frames, "cached_backends", None) or {}
    return any(backend is not None for backend in backends.values())
