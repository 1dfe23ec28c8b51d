"""Notices that the program compiles: forward hooks would be traced into the compiled code."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from tensorscope.agent.capture.compiled import uses_compile


class CompileWitness:
    """Wraps `torch.compile` while a program is followed. What was compiled before is found out too."""

    def __init__(self, begins: Callable[[], None]) -> None:
        self.seen = False
        self._begins = begins
        self._wrapper: Callable[..., Any] | None = None
        self._original: Callable[..., Any] | None = None

    def install(self) -> None:
        """Watch from now on."""
        self.seen = self.seen or uses_compile()
        if self._wrapper is not None:
            return
        original = self._original = torch.compile

        @functools.wraps(original)
        def compile(*args: Any, **kwargs: Any) -> Any:
            if not self.seen and self._wrapper is not None:
                self.seen = True
                self._begins()
            return original(*args, **kwargs)

        self._wrapper = torch.compile = compile

    def remove(self) -> None:
        """Put the original back, unless somebody has wrapped ours since."""
        if self._wrapper is not None and torch.compile is self._wrapper:
            torch.compile = self._original
        self._wrapper = self._original = None
