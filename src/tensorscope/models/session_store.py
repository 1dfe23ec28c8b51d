"""Everything that is known of one session, as columns. Live or from a file: the same store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.core.errors import DataError
from tensorscope.core.schema import OPTIONAL_COLUMNS, RECORD_COLUMNS, STREAM_COLUMNS
from tensorscope.core.wire import Frame
from tensorscope.models.frame_checks import check_columns
from tensorscope.models.stack_table import StackTable
from tensorscope.models.table import Table, column_array

MAX_STRINGS = 1 << 22


@dataclass(frozen=True)
class Record:
    """One frame that is kept whole.

    `rows` is the length each stream table had when the record arrived, so that a ``baseline``
    knows which ``alloc`` rows build on it. `order` grows with every record of the session.
    """

    kind: str
    step: int
    clock_ns: int
    meta: Mapping[str, Any]
    columns: Mapping[str, NDArray[Any]]
    rows: Mapping[str, int]
    order: int


class SessionStore:
    """Frames in, columns out. One thread at a time (the GUI thread, or a headless command)."""

    def __init__(self) -> None:
        self.tables = {
            kind: Table(columns, OPTIONAL_COLUMNS.get(kind, frozenset()))
            for kind, columns in STREAM_COLUMNS.items()
        }
        self.stacks = StackTable()
        self.strings: list[str] = [""]
        self.hello: Mapping[str, Any] = {}
        self.heartbeat: Mapping[str, Any] = {}
        self.bye: Mapping[str, Any] | None = None
        self.version = 0
        """Grows with every frame; views compare it to know whether to look again."""
        self._records: dict[str, list[Record]] = {}

    @property
    def origin_ns(self) -> int:
        """Target clock at the start of the session; subtract it before anything reaches Qt."""
        return int(self.hello.get("origin_ns", 0))

    def ingest(self, frame: Frame) -> None:
        """Take in one frame; kinds that we do not know are kept as records.

        Raises
        ------
        DataError
            If a known kind has impossible content; the store is unchanged by that frame.
        """
        if frame.kind in self.tables:
            if frame.kind == "step":
                self._check_step_order(frame)
            self.tables[frame.kind].append(frame.columns)
        elif frame.kind == "strings":
            self._ingest_strings(frame.meta)
        elif frame.kind == "heartbeat":
            self.heartbeat = frame.meta
        else:
            self._ingest_record(frame)
        self.version += 1

    def string(self, index: int) -> str:
        """Return interned string `index`, or a marked placeholder if it never arrived."""
        return self.strings[index] if 0 <= index < len(self.strings) else f"?{index}"

    def records(self, kind: str) -> list[Record]:
        """Return every record of `kind`, oldest first."""
        return self._records.get(kind, [])

    def all_records(self) -> list[Record]:
        """Return every record of every kind, oldest first."""
        found = [record for records in self._records.values() for record in records]
        return sorted(found, key=lambda record: record.order)

    def record_at(self, kind: str, step: int) -> Record | None:
        """Return the newest record of `kind` at or before `step`, else the oldest, else None."""
        found = self.records(kind)
        before = [record for record in found if record.step <= step]
        return before[-1] if before else (found[0] if found else None)

    def _check_step_order(self, frame: Frame) -> None:
        known, column = self.tables["step"]["step"], frame.columns.get("step")
        if column is None or column.dtype != "i4":
            return  # the table says so
        steps = column_array(column).astype(np.int64).ravel()
        if (np.diff(steps) <= 0).any() or (len(known) and len(steps) and steps[0] <= known[-1]):
            raise DataError("its step numbers do not grow")

    def _ingest_strings(self, meta: Mapping[str, Any]) -> None:
        first, values = meta.get("first"), meta.get("values")
        if not isinstance(first, int) or not isinstance(values, list) or not 0 < first <= MAX_STRINGS:
            raise DataError("a strings frame has no usable 'first' and 'values'")
        if not all(isinstance(value, str) for value in values) or first + len(values) > MAX_STRINGS:
            raise DataError("a strings frame holds something else than strings, or too many")
        missing = first + len(values) - len(self.strings)
        if missing > len(values):
            raise DataError(f"strings {len(self.strings)} to {first - 1} never arrived")
        self.strings[first : first + len(values)] = values

    def _ingest_record(self, frame: Frame) -> None:
        columns = {}
        for name, column in frame.columns.items():
            wanted = RECORD_COLUMNS.get(frame.kind, {}).get(name)
            if wanted is not None and wanted != column.dtype:
                raise DataError(f"column {name!r} of {frame.kind!r} is {column.dtype}, not {wanted}")
            columns[name] = column_array(column)
        if frame.kind in RECORD_COLUMNS:
            check_columns(frame.kind, columns)
        optional = OPTIONAL_COLUMNS.get(frame.kind, frozenset())
        missing = RECORD_COLUMNS.get(frame.kind, {}).keys() - columns.keys() - optional
        if missing and not (frame.kind == "values" and not frame.meta.get("ok")):
            raise DataError(f"a {frame.kind!r} frame lacks {sorted(missing)}")
        if frame.kind == "stacks":
            self.stacks.append(frame.meta, columns)
        rows = {kind: len(table) for kind, table in self.tables.items()}
        record = Record(frame.kind, frame.step, frame.clock_ns, frame.meta, columns, rows, self.version)
        self._records.setdefault(frame.kind, []).append(record)
        if frame.kind == "hello":
            self.hello = frame.meta
        elif frame.kind == "bye":
            self.bye = frame.meta
