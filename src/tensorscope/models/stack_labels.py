"""Names of call stacks for people: the line of their own program that asked for the memory."""

from __future__ import annotations

import re
from typing import NamedTuple

from tensorscope.models.frozen_store import StoreLike

_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3", "\\site-packages\\", "\\lib\\python3")
_NODE = re.compile(r"torch::autograd::generated::(\w+)::apply")
_OPERATOR = re.compile(r"at::_ops::(\w+)::call|^(aten::\w+)")


class StackFrame(NamedTuple):
    """One frame of a call stack; of native code, `file` is "", "??" or a C++ file."""

    file: str
    line: int
    function: str

    @property
    def is_native(self) -> bool:
        """Whether it is no line of Python: C++ has no file, or one of its own."""
        is_cell = self.file.startswith("<") and not self.file.startswith("<frozen")
        return not (self.file.endswith(".py") or is_cell)

    @property
    def is_library(self) -> bool:
        """Whether it is of an installed package or the standard library."""
        return any(part in self.file for part in _LIBRARIES) or self.file.startswith("torch/")

    @property
    def short(self) -> str:
        """``model.py:41 forward``; the function alone for native code."""
        if self.is_native:
            return self.function
        name = self.file.replace("\\", "/").rpartition("/")[2]
        return f"{name}:{self.line} {self.function}"


class StackLabels:
    """Frames and labels of a store's stacks, each worked out once. One thread at a time."""

    def __init__(self, store: StoreLike) -> None:
        self._store = store
        self._labels: dict[int, str] = {0: ""}

    def frames(self, stack: int) -> list[StackFrame]:
        """Return the frames of a stack, innermost first."""
        stacks, string = self._store.stacks, self._store.string
        return [
            StackFrame(
                string(int(stacks.files[frame])),
                int(stacks.lines[frame]),
                string(int(stacks.functions[frame])),
            )
            for frame in stacks.frames_of(stack)
        ]

    def label(self, stack: int) -> str:
        """Return the innermost line of the program itself, else of any Python, else grad_fn or operator."""
        known = self._labels.get(stack)
        if known is None:
            known = self._labels[stack] = _label(self.frames(stack))
        return known


def _label(frames: list[StackFrame]) -> str:
    python = [frame for frame in frames if not frame.is_native]
    own = [frame for frame in python if not frame.is_library]
    if own or python:
        return (own or python)[0].short
    for pattern in (_NODE, _OPERATOR):  # backward runs in threads that have no Python
        for frame in reversed(frames):
            if match := pattern.search(frame.function):
                return match[1] or match[2]
    return frames[0].short if frames else ""
