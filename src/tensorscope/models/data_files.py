"""Writes a session's memory as files that other tools read: CSV tables and a Perfetto trace."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from tensorscope.core.whole_file import whole_file
from tensorscope.models.event_rows import BLOCK_HEADER, EVENT_HEADER, block_rows, event_rows
from tensorscope.models.session_store import SessionStore
from tensorscope.models.trace_events import Event, trace_events

EVENTS, BLOCKS, PERFETTO = "events", "blocks", "perfetto"
DATA = (EVENTS, BLOCKS, PERFETTO)


def write_data(store: SessionStore, what: str, path: Path) -> None:
    """Write ``events`` or ``blocks`` as CSV, or ``perfetto`` as JSON.

    It is packed where the name ends in ``.gz``. The file appears whole or not at all.

    Raises
    ------
    OSError
        With the reason, if it cannot be written.
    """
    with whole_file(path) as part, part.open("wb") as raw:
        packed = gzip.GzipFile(fileobj=raw, mode="wb") if path.suffix == ".gz" else None
        binary: IO[bytes] = raw if packed is None else packed  # type: ignore[assignment]
        text = io.TextIOWrapper(binary, "utf-8", newline="")
        if what == PERFETTO:
            _write_trace(text, trace_events(store))
        else:
            header, rows = (EVENT_HEADER, event_rows) if what == EVENTS else (BLOCK_HEADER, block_rows)
            writer = csv.writer(text)
            writer.writerow(header)
            writer.writerows(rows(store))
        text.flush()
        text.detach()
        if packed is not None:
            packed.close()


def _write_trace(file: IO[str], events: Iterable[Event]) -> None:
    file.write('{"displayTimeUnit": "ms", "traceEvents": [\n')
    for number, event in enumerate(events):
        file.write(",\n" if number else "")
        file.write(json.dumps(event, separators=(",", ":"), ensure_ascii=False, allow_nan=False))
    file.write("\n]}\n")
