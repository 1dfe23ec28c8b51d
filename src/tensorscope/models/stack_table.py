"""Call stacks of allocations, each stored once: stack id to frames, innermost first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.growing_array import GrowingArray
from tensorscope.core.errors import DataError

Ids = NDArray[np.int64]

UNKNOWN_STACK = 0


class StackTable:
    """Grows with every ``stacks`` record; stack 0 has no frames. One thread at a time.

    Attributes
    ----------
    files, lines, functions
        One entry a frame; files and functions are string ids.
    """

    def __init__(self) -> None:
        self._files = GrowingArray(np.int64)
        self._lines = GrowingArray(np.int64)
        self._functions = GrowingArray(np.int64)
        self._frames = GrowingArray(np.int64)
        self._ends = GrowingArray(np.int64)
        self._ends.append(np.zeros(1, np.int64))

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def files(self) -> Ids:
        """String id of each frame's file; borrowed."""
        return self._files.view

    @property
    def lines(self) -> Ids:
        """Line of each frame; borrowed."""
        return self._lines.view

    @property
    def functions(self) -> Ids:
        """String id of each frame's function; borrowed."""
        return self._functions.view

    @property
    def ends(self) -> Ids:
        """Where the frames of each stack end in `frames`; borrowed."""
        return self._ends.view

    @property
    def frames(self) -> Ids:
        """Frame ids of all stacks one after the other; borrowed."""
        return self._frames.view

    def frames_of(self, stack: int) -> Ids:
        """Return the frame ids of `stack`, innermost first; none for a stack that never arrived."""
        if not 0 < stack < len(self):
            return np.empty(0, np.int64)
        return self.frames[int(self.ends[stack - 1]) : int(self.ends[stack])]

    def append(self, meta: Mapping[str, Any], columns: Mapping[str, NDArray[Any]]) -> None:
        """Take in one ``stacks`` record.

        Raises
        ------
        DataError
            If it does not go on where the one before ended, or names frames that are not there;
            the table is unchanged then.
        """
        if set(columns) < {"file", "line", "function", "length", "frames"}:
            raise DataError("a stacks frame lacks columns")
        if meta.get("first_frame") != len(self._files) or meta.get("first_stack") != len(self):
            raise DataError("stacks before these never arrived")
        count = len(self._files) + len(columns["file"])
        frames, lengths = columns["frames"].astype(np.int64), columns["length"].astype(np.int64)
        if int(lengths.sum()) != len(frames) or int(frames.max(initial=-1)) >= count:
            raise DataError("its stacks name frames that are not there")
        self._files.append(columns["file"].astype(np.int64))
        self._lines.append(columns["line"].astype(np.int64))
        self._functions.append(columns["function"].astype(np.int64))
        self._ends.append(len(self._frames) + np.cumsum(lengths))
        self._frames.append(frames)
