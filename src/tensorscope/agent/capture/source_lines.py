"""Where in the user's own code something happens: "train.py:41"."""

from __future__ import annotations

import os
from types import CodeType, FrameType
from typing import Any

import torch

from tensorscope.agent.context import Context

_HIDDEN = tuple(
    os.path.dirname(os.path.abspath(path)) + os.sep
    for path in (torch.__file__, os.path.dirname(os.path.abspath(__file__)))
)
"""Folders whose frames are nobody's own code: torch and this agent."""


class SourceLines:
    """Finds the first frame outside torch. Keeps what it learnt of each code object; training thread."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._files: dict[CodeType, str] = {}
        self._ids: dict[tuple[CodeType, int], int] = {}

    def of_frame(self, frame: FrameType | None) -> int:
        """Return the string id of the innermost line outside torch, from `frame` outwards; 0 if none."""
        files = self._files
        while frame is not None:
            code = frame.f_code
            short = files.get(code)
            if short is None:
                short = files[code] = short_path(code.co_filename)
            if short:
                line = frame.f_lineno
                found = self._ids.get((code, line))
                if found is None:
                    found = self._ids[code, line] = self._context.string(f"{short}:{line}")
                return found
            frame = frame.f_back
        return 0

    def of_class(self, kind: Any) -> int:
        """Return the string id of the line where the forward of a custom Function begins; 0 if unknown."""
        code = getattr(getattr(kind, "forward", None), "__code__", None)
        short = short_path(code.co_filename) if isinstance(code, CodeType) else ""
        return self._context.string(f"{short}:{code.co_firstlineno}") if short and code else 0


def short_path(path: str) -> str:
    """Return `path` below the current folder, else its last part; "" for torch's files and ours."""
    absolute = os.path.abspath(path) if not path.startswith("<") else path
    if absolute.startswith(_HIDDEN):
        return ""
    here = os.getcwd() + os.sep
    return absolute[len(here) :] if absolute.startswith(here) else os.path.basename(absolute)
