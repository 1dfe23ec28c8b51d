"""What a foreign file is, judged by its content, and the document in it."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from tensorscope.core.errors import ReaderError
from tensorscope.readers.allocator_file import AllocatorFile
from tensorscope.readers.cuda_snapshot import read_cuda_snapshot
from tensorscope.readers.kineto import read_kineto
from tensorscope.readers.memory_timeline import is_memory_timeline, read_memory_timeline
from tensorscope.readers.safe_pickle import load_plain

GZIP = b"\x1f\x8b"
_CHUNK_BYTES = 1 << 20


class _Counted(io.RawIOBase):
    """A file that tells how much of it has been read."""

    def __init__(self, file: IO[bytes], told: Callable[[int], None]) -> None:
        super().__init__()
        self._file, self._told = file, told
        self._done = self._last = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        self._done += len(data)
        if self._done - self._last > _CHUNK_BYTES:
            self._last = self._done
            self._told(self._done)
        return len(data)


def load_document(path: Path, told: Callable[[int], None] = lambda _: None) -> Any:
    """Return the value in a pickle or JSON file, packed with gzip or not.

    Parameters
    ----------
    told
        Called with the bytes read so far.

    Raises
    ------
    ReaderError
        If it is neither, or damaged.
    """
    try:
        with path.open("rb") as file:
            packed = file.read(2) == GZIP
            file.seek(0)
            counted = io.BufferedReader(_Counted(file, told), _CHUNK_BYTES)
            plain: Any = gzip.GzipFile(fileobj=counted) if packed else counted
            return _load(io.BufferedReader(plain, _CHUNK_BYTES) if packed else plain)
    except OSError as error:
        raise ReaderError(f"{error.strerror or error}.") from None
    except (EOFError, zlib.error) as error:
        raise ReaderError(f"its compressed data end too soon or are damaged ({error}).") from None


def _load(file: io.BufferedReader) -> Any:
    head = file.peek(64)[:64].lstrip()
    if not head:
        raise ReaderError("it is empty.")
    if head[:1] not in b"{[":
        if head[:1] != b"\x80" and head[:1] not in b"(}]":
            raise ReaderError("it is neither a session file, nor a pickle, nor JSON.")
        return load_plain(file)
    try:
        return json.load(io.TextIOWrapper(file, "utf-8", errors="replace"))
    except (ValueError, RecursionError) as error:
        raise ReaderError(f"its JSON is damaged or cut short ({error}).") from None


def read_document(document: Any, told: Callable[[str], None] = lambda _: None) -> AllocatorFile:
    """Return what a loaded document says, whichever of the known formats it has."""
    if isinstance(document, dict) and "traceEvents" in document:
        return read_kineto(document, told)
    if is_memory_timeline(document):
        return read_memory_timeline(document)
    return read_cuda_snapshot(document, told)
