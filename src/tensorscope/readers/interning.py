"""Strings and call stacks, each kept once and known by a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.core.errors import ReaderError

MAX_TEXT_CHARS = 4096
MAX_FRAMES = 1024
"""Frames of one stack that are kept, from the innermost."""


class Strings:
    """Text to number; number 0 is the empty text."""

    def __init__(self) -> None:
        self.values = [""]
        self._ids = {"": 0}

    def id_of(self, text: Any) -> int:
        """Return the number of `text`; whatever is not text is shown as Python shows it."""
        known = self._ids.get(text) if type(text) is str else None
        if known is not None:
            return known
        text = (text if isinstance(text, str) else repr(text))[:MAX_TEXT_CHARS]
        text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates are no UTF-8
        number = self._ids.setdefault(text, len(self.values))
        if number == len(self.values):
            self.values.append(text)
        return number

    def ids_of(self, texts: Iterable[Any]) -> NDArray[np.int64]:
        """Return the numbers of many texts, most of them seen before."""
        values = list(texts)
        try:
            known = {text: self.id_of(text) for text in dict.fromkeys(values)}
        except TypeError:  # something that is no text and cannot be a key
            return np.array([self.id_of(text) for text in values], np.int64)
        return np.fromiter(map(known.__getitem__, values), np.int64, len(values))


class Stacks:
    """Call stacks as torch writes them: lists of {filename, line, name}, innermost first."""

    def __init__(self, strings: Strings) -> None:
        self._strings = strings
        self._frames: dict[tuple[int, int, int], int] = {}
        self._stacks: dict[tuple[int, ...], int] = {(): 0}

    def ids_of(self, stacks: Sequence[Any]) -> NDArray[np.int64]:
        """Return the number of each stack; 0 for none.

        A pickle keeps one dictionary for equal frames, so most stacks are known by the identities of
        their frames alone.
        """
        keys = list(map(id, stacks))
        alike: dict[tuple[int, ...], int] = {}
        known: dict[int, int] = {}
        for key, stack in dict(zip(keys, stacks, strict=True)).items():
            frames = tuple(map(id, stack)) if type(stack) is list else (key,)
            number = alike.get(frames)
            if number is None:
                number = alike[frames] = 0 if stack is None else self.id_of(stack)
            known[key] = number
        return np.fromiter(map(known.__getitem__, keys), np.int64, len(keys))

    def id_of(self, stack: Any) -> int:
        """Return the number of one stack."""
        if not isinstance(stack, (list, tuple)):
            raise ReaderError(f"a call stack is a {type(stack).__name__}, not a list of frames.")
        return self._stacks.setdefault(tuple(map(self._frame, stack[:MAX_FRAMES])), len(self._stacks))

    def _frame(self, frame: Any) -> int:
        if not isinstance(frame, Mapping):
            raise ReaderError(f"a frame of a call stack is a {type(frame).__name__}, not a dictionary.")
        line = frame.get("line")
        key = (
            self._strings.id_of(frame.get("filename", "")),
            line if isinstance(line, int) and 0 <= line < 2**31 else 0,
            self._strings.id_of(frame.get("name", "")),
        )
        return self._frames.setdefault(key, len(self._frames))

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns of a ``stacks`` record that holds them all."""
        frames = np.array(list(self._frames), np.int64).reshape(-1, 3)
        stacks = list(self._stacks)[1:]
        return {
            "file": frames[:, 0].astype("u4"), "line": frames[:, 1].astype("i4"),
            "function": frames[:, 2].astype("u4"),
            "length": np.array([len(stack) for stack in stacks], "u4"),
            "frames": np.array([frame for stack in stacks for frame in stack], "u4"),
        }  # fmt: skip
