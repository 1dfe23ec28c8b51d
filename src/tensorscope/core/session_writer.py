"""Writes a session file: one SQLite database that holds the frames of a session.

Schema 1: ``manifest(key, value)``, ``strings(id, value)`` and ``chunks(id, kind, step, clock_ns, seq,
header, payload)``, where header and payload are those of `wire.encode_parts`. Standard library only,
because the agent writes the file alone where there is no window.

Each chunk is a transaction of its own without a sync: a killed process loses at most the chunk it was
writing. The rollback journal leaves one self-contained file (a write-ahead log would be a second one).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time

from tensorscope.core.errors import SessionFileError
from tensorscope.core.version import VERSION
from tensorscope.core.wire import PROTOCOL_VERSION, Frame, encode_parts

APPLICATION_ID = 0x54534353
SCHEMA_VERSION = 1
_SCHEMA = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
CREATE TABLE manifest(key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE strings(id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE chunks(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, step INTEGER NOT NULL,
                    clock_ns INTEGER NOT NULL, seq INTEGER NOT NULL, header BLOB NOT NULL,
                    payload BLOB NOT NULL);
CREATE INDEX chunk_step ON chunks(kind, step);
"""


class SessionWriter:
    """An open session file. One thread at a time.

    Parameters
    ----------
    path
        File to make; it must not exist unless `replace` is set.

    Raises
    ------
    SessionFileError
        If the file exists or cannot be made; from `write`, if the disk is full or the file went away.
    """

    def __init__(self, path: str | os.PathLike[str], replace: bool = False) -> None:
        self.path = os.fspath(path)
        self.chunks = 0
        self._create(replace)
        try:
            self._database = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            self._database.execute("PRAGMA journal_mode = TRUNCATE")
            self._database.execute("PRAGMA synchronous = OFF")
            self._database.executescript(f"BEGIN;{_SCHEMA}COMMIT;")
            self._write_manifest()
        except sqlite3.Error as error:
            raise self._failed(error) from None

    def write(self, frame: Frame) -> None:
        """Append one frame; it is safe from a kill of this process when this returns."""
        try:
            if frame.kind == "strings":
                self._write_strings(int(frame.meta["first"]), frame.meta["values"])
                return
            header, payload = encode_parts(frame)
            self._database.execute(
                "INSERT INTO chunks(kind, step, clock_ns, seq, header, payload) VALUES(?, ?, ?, ?, ?, ?)",
                (frame.kind, frame.step, frame.clock_ns, frame.seq, header, payload),
            )
            self.chunks += 1
        except sqlite3.Error as error:
            raise self._failed(error) from None

    def close(self) -> None:
        """Close the file; idempotent."""
        with contextlib.suppress(sqlite3.Error):
            self._database.execute("PRAGMA journal_mode = DELETE")  # removes the empty journal
        self._database.close()

    def _create(self, replace: bool) -> None:
        flags = os.O_CREAT | os.O_WRONLY | (os.O_TRUNC if replace else os.O_EXCL)
        try:
            os.close(os.open(self.path, flags, 0o600))
        except FileExistsError:
            raise SessionFileError(
                f"{self.path} exists already and was not touched: choose another name or remove it."
            ) from None
        except OSError as error:
            raise SessionFileError(f"Cannot write {self.path}: {error.strerror}.") from None

    def _write_manifest(self) -> None:
        rows = {
            "producer": f"tensorscope {VERSION}",
            "protocol": str(PROTOCOL_VERSION),
            "created_unix_ns": str(time.time_ns()),
        }
        self._database.execute("BEGIN")
        self._database.executemany("INSERT INTO manifest VALUES(?, ?)", rows.items())
        self._database.execute("COMMIT")

    def _write_strings(self, first: int, values: list[str]) -> None:
        rows = list(enumerate((value.encode("utf-8", "replace").decode() for value in values), first))
        self._database.execute("BEGIN")
        self._database.executemany("INSERT OR REPLACE INTO strings VALUES(?, ?)", rows)
        self._database.execute("COMMIT")

    def _failed(self, error: sqlite3.Error) -> SessionFileError:
        return SessionFileError(f"Cannot write {self.path} after {self.chunks} chunks: {error}.")
