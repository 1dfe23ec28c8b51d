"""Reads a session file, trusting nothing in it: a damaged file opens up to the damage and says so."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from tensorscope.core.errors import ProtocolError, SessionFileError
from tensorscope.core.session_writer import APPLICATION_ID, SCHEMA_VERSION
from tensorscope.core.wire import MAX_HEADER_BYTES, MAX_PAYLOAD_BYTES, Frame, decode_parts

MAX_STRING_CHARS = 4096
_STRINGS_A_FRAME = 2048
_SQLITE_MAGIC = b"SQLite format 3\0"
_TABLES = ("manifest", "strings", "chunks")
_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_PRAGMA})
_NEXT_CHUNK = (
    "SELECT id, kind, step, clock_ns, seq, header, payload FROM chunks WHERE id > ? ORDER BY id LIMIT 1"
)
_CHUNK_TYPES = (int, str, int, int, int, bytes, bytes)
# SQLite's own words about a damaged file may not even be text, hence UnicodeError.
_DAMAGE = (sqlite3.Error, UnicodeError, OverflowError, MemoryError)
# Nothing the file holds may run: no trusted functions, no writes, cells checked before they are read.
_PRAGMAS = ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON", "mmap_size = 0")


def is_session_file(path: Path) -> bool:
    """Return whether `path` starts as a session file, or cannot be read at all: `SessionReader` says why."""
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE_MAGIC)) in (b"", _SQLITE_MAGIC)
    except OSError:
        return True


class SessionReader:
    """An open session file. One thread at a time; a context manager.

    Attributes
    ----------
    problems
        What could not be read and why, for a person; grows while `frames` runs.
    total_chunks
        How many chunks the file claims to have.

    Raises
    ------
    SessionFileError
        If the file is missing, is not a session file, or is of a newer version.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.problems: list[str] = []
        self.total_chunks = 0
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._check_magic()
        try:
            self._database = self._open(self.path)
            self._check_schema()
        except _DAMAGE as error:
            self._open_copy(error)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def frames(self) -> Iterator[Frame]:
        """Yield the strings, then every frame in the order of writing, up to the first damage."""
        yield from self._strings()
        read = 0
        try:
            # One row a query: a cursor reads ahead, and would lose the row before a damaged one.
            while (row := self._database.execute(_NEXT_CHUNK, (read,)).fetchone()) is not None:
                if row[0] != read + 1:
                    raise ProtocolError(f"the next one is number {row[0]}")
                yield self._frame(row)
                read += 1
        except (*_DAMAGE, ProtocolError) as error:
            self._damaged(read, error)
        if not self.problems and read < self.total_chunks:
            self._damaged(read, ProtocolError("the file ends there"))

    def close(self) -> None:
        """Close the file; idempotent."""
        if hasattr(self, "_database"):
            self._database.close()
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None

    def _check_magic(self) -> None:
        try:
            with self.path.open("rb") as file:
                start = file.read(len(_SQLITE_MAGIC))
        except OSError as error:
            raise SessionFileError(f"Cannot open {self.path}: {error.strerror}.") from None
        if not start:
            raise SessionFileError(f"Cannot open {self.path}: the file is empty.")
        if start != _SQLITE_MAGIC:
            raise SessionFileError(
                f"Cannot open {self.path}: it is not a session file (it does not start as one)."
            )

    def _open(self, path: Path) -> sqlite3.Connection:
        database = sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, timeout=2.0, check_same_thread=False
        )
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_HEADER_BYTES + MAX_PAYLOAD_BYTES)
        database.text_factory = lambda raw: raw.decode("utf-8", "replace")
        for pragma in _PRAGMAS:
            database.execute(f"PRAGMA {pragma}")
        database.set_authorizer(_authorize)
        return database

    def _open_copy(self, first: Exception) -> None:
        """Open a copy: a killed writer's journal can only be rolled back in a file we may write."""
        journal = Path(f"{self.path}-journal")
        with contextlib.suppress(AttributeError):
            self._database.close()
        try:
            if not journal.is_file() or not journal.stat().st_size:
                raise first
            self._copy = tempfile.TemporaryDirectory(prefix="tensorscope-")
            copy = Path(self._copy.name) / "session.tscope"
            shutil.copyfile(self.path, copy)
            shutil.copyfile(journal, f"{copy}-journal")
            sqlite3.connect(copy).execute("SELECT count(*) FROM sqlite_master").connection.close()
            self._database = self._open(copy)
            self._check_schema()
        except (*_DAMAGE, OSError) as error:
            self.close()
            raise SessionFileError(f"Cannot open {self.path}: it is damaged ({error}).") from None

    def _check_schema(self) -> None:
        (application,) = self._database.execute("PRAGMA application_id").fetchone()
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID:
            raise SessionFileError(f"Cannot open {self.path}: it is a database, but not a session file.")
        if version > SCHEMA_VERSION:
            raise SessionFileError(
                f"Cannot open {self.path}: it was written by a newer TensorScope (file version {version}, "
                f"this one reads {SCHEMA_VERSION}). Install a newer TensorScope."
            )
        rows = self._database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        found = {name: sql for name, sql in rows.fetchmany(64) if isinstance(sql, str)}
        if not all(found.get(name, "").startswith("CREATE TABLE") for name in _TABLES):
            raise SessionFileError(f"Cannot open {self.path}: its tables are not those of a session file.")
        last = self._database.execute("SELECT id FROM chunks ORDER BY id DESC LIMIT 1").fetchone()
        self.total_chunks = last[0] if last and isinstance(last[0], int) else 0

    def _strings(self) -> Iterator[Frame]:
        values: list[str] = []
        first = 1
        try:
            for number, value in self._database.execute("SELECT id, value FROM strings ORDER BY id"):
                if number != first + len(values) or not isinstance(value, str):
                    raise ProtocolError("the numbers are not in sequence")
                values.append(value[:MAX_STRING_CHARS])
                if len(values) == _STRINGS_A_FRAME:
                    yield Frame("strings", meta={"first": first, "values": values})
                    first, values = first + len(values), []
        except (*_DAMAGE, ProtocolError) as error:
            count = first - 1 + len(values)
            self.problems.append(f"Names of {self.path} after the first {count} are lost: {error}.")
        if values:
            yield Frame("strings", meta={"first": first, "values": values})

    def _frame(self, row: tuple[Any, ...]) -> Frame:
        if not all(type(value) is wanted for value, wanted in zip(row, _CHUNK_TYPES, strict=True)):
            raise ProtocolError("it has columns of the wrong type")
        frame = decode_parts(row[5], row[6])
        if (frame.kind, frame.step) != (row[1], row[2]):
            raise ProtocolError("its index does not fit its content")
        return frame

    def _damaged(self, read: int, error: Exception) -> None:
        opened = f"Opened the first {read}." if read else "Nothing before it could be opened."
        self.problems.append(
            f"Cannot read chunk {read + 1} of {self.total_chunks} in {self.path}: {error}. {opened}"
        )


def read_session(path: str | Path) -> Iterator[Frame]:
    """Yield the frames of a session file.

    Raises
    ------
    SessionFileError
        If the file cannot be opened, or, after the last good frame, if it is damaged.
    """
    with SessionReader(path) as reader:
        yield from reader.frames()
        if reader.problems:
            raise SessionFileError(" ".join(reader.problems))


def _authorize(action: int, *_names: str | None) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY
