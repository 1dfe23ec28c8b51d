"""Strings as small numbers: each text crosses the wire once."""

from __future__ import annotations

import threading

from tensorscope.core.wire import Frame

_BATCH = 2048


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
        frames = [
            Frame("strings", meta={"first": at, "values": self._texts[at : min(at + _BATCH, end)]})
            for at in range(cursor, end, _BATCH)
        ]
        return frames, end
