"""Waits for a program to import torch, which is never imported for it.

A script may set variables first that torch reads when it is imported.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Callable
from typing import Any


def after_torch(then: Callable[[], None]) -> None:
    """Call `then` now if torch is imported, else as soon as it has been."""
    # A module that is still being imported is in sys.modules too.
    torch = sys.modules.get("torch")
    if torch is not None and not getattr(torch.__spec__, "_initializing", False):
        then()
    else:
        sys.meta_path.insert(0, _TorchFinder(then))


class _TorchFinder:
    """First on ``sys.meta_path``; gone before torch's own code runs."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Find torch as everybody does, and have its loader call us."""
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        loader: Any = spec.loader if spec else None
        if loader is not None:
            original = loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                del loader.exec_module
                original(module)
                self._then()

            loader.exec_module = exec_module
        return spec
