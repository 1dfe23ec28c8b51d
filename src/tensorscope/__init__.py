"""TensorScope: see what a running PyTorch program really does.

Importing this package costs nothing: it loads neither Qt nor torch nor numpy, so that it can
be imported inside somebody else's training process.
"""

from __future__ import annotations

from typing import Any

from tensorscope.core.version import VERSION as __version__

__all__ = ["__version__", "watch"]


def __getattr__(name: str) -> Any:
    if name == "watch":
        from tensorscope.agent.watch import watch

        return watch
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
