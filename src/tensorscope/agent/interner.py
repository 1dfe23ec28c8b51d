"""Strings as small numbers: each text crosses the wire once."""

from __future__ import annotations

import threading

from tensorscope.core.wire import Frame

_BATCH = 2048
_BATCH_CHARS = 1 << 16
"""So that a frame's header stays within `wire.MAX_HEADER_BYTES`: JSON takes 12 bytes at most for each."""


class Interner:
    """Append-only table of strings; `id` in any thread, each sink keeps its own cursor.

    The list is appended to before the dict is written, so a reader that sees an id finds its text.
    """

    def __init__(self) -> None:
        self._ids: dict[str, int] = {"": 0}
        self._texts: list[str] = [""]
        self._adding = threading.Lock()

    def id(self, text: str) -> int:
        """Return the id of `text`, at most 4,096 characters of which are kept."""
        found = self._ids.get(text)
        if found is not None:
            return found
        with self._adding:
            found = self._ids.get(text)
            if found is None:
                self._texts.append(text[:4096])
                found = self._ids[text] = len(self._texts) - 1
        return found

    def text(self, number: int) -> str:
        """Return the text of an id."""
        return self._texts[number]

    def frames_since(self, cursor: int) -> tuple[list[Frame], int]:
        """Return ``strings`` frames for every text from id `cursor` on, and the next cursor."""
        end = len(self._texts)
        frames = []
        while cursor < end:
            values = self._batch(cursor, end)
            frames.append(Frame("strings", meta={"first": cursor, "values": values}))
            cursor += len(values)
        return frames, end

    def _batch(self, first: int, end: int) -> list[str]:
        """Return the texts from `first` on that fit one frame, at least one."""
        values = self._texts[first : min(first + _BATCH, end)]
        room = _BATCH_CHARS
        for number, text in enumerate(values):
            room -= len(text)
            if room < 0 and number:
                return values[:number]
        return values
