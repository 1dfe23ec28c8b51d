"""Asks the target for the values of the part of a tensor that is on the screen, one request at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.models.session_model import SessionModel

MAX_SIDE_ELEMS = 256


@dataclass(frozen=True)
class Part:
    """Which part: `axes` as (row, column) with -1 for none, the position on every axis, the window."""

    tensor: str
    axes: tuple[int, int]
    index: tuple[int, ...]
    start: tuple[int, int]
    shape: tuple[int, int]

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the ``values`` command."""
        shown = [axis for axis in self.axes if axis >= 0]
        return {
            "tensor": self.tensor, "axes": shown, "start": list(self.start),
            "shape": [min(count, MAX_SIDE_ELEMS) for count in self.shape],
            "index": [value for axis, value in enumerate(self.index) if axis not in shown],
        }  # fmt: skip

    def same_slice(self, other: Part) -> bool:
        """Return whether both show the same axes at the same position of the same tensor."""
        mine, its = (p.arguments() for p in (self, other))
        return self.axes == other.axes and all(mine[key] == its[key] for key in ("tensor", "index"))


@dataclass(frozen=True, eq=False)
class Values:
    """What came back: (rows, columns) from `start` on, read at the end of `step`."""

    part: Part
    start: tuple[int, int]
    data: NDArray[np.float64]
    step: int


class ValuesRequest:
    """Sends the newest wish when the one before was answered. GUI thread."""

    def __init__(self, session: SessionModel) -> None:
        self._session = session
        self._seen = 0
        self._asked: tuple[int, Part] | None = None
        self._wanted: Part | None = None
        self.values: Values | None = None
        self.problem = ""

    @property
    def waiting(self) -> bool:
        """Whether an answer is still to come."""
        return self._asked is not None

    def ask(self, part: Part) -> bool:
        """Ask for `part`, or remember it until the answer to the last one came; False if not live."""
        if self._session.state != "open":
            return False
        if self._asked is not None:
            self._wanted = part
            return True
        self.problem = ""
        number = self._session.send("values", **part.arguments())
        self._asked = (number, part) if number >= 0 else None
        return number >= 0

    def on_reply(self, meta: Mapping[str, Any]) -> None:
        """Take in a ``reply``: a refusal ends the waiting."""
        if self._asked is not None and meta.get("id") == self._asked[0] and not meta.get("ok"):
            self.problem = str(meta.get("error") or "")
            self._next()

    def advance(self) -> bool:
        """Look for the answer among the records; return whether something changed."""
        records = self._session.store.records("values")
        new, self._seen = records[self._seen :], len(records)
        if self._asked is not None and self._session.state not in ("open", "paused"):
            self._asked = self._wanted = None
            return True
        number, part = self._asked or (-1, None)
        answer = next((record for record in new if record.meta.get("id") == number), None)
        if answer is None or part is None:
            return False
        data = answer.columns.get("data")
        if answer.meta.get("ok") and data is not None and data.ndim == 2:
            start = answer.meta.get("start")
            if not isinstance(start, list) or len(start) != 2 or any(type(n) is not int for n in start):
                start = part.start
            self.values = Values(part, (start[0], start[1]), data, answer.step)
            self.problem = ""
        else:
            self.values, self.problem = None, str(answer.meta.get("error") or "")
        self._next()
        return True

    def _next(self) -> None:
        self._asked, wanted = None, self._wanted
        self._wanted = None
        if wanted is not None:
            self.ask(wanted)
