"""Takes our frames out of tracebacks that are printed because nobody caught the error."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any


def install(directory: str) -> None:
    """Wrap what prints uncaught errors; frames of files below `directory` are left out."""
    before = sys.excepthook

    def excepthook(kind: Any, error: BaseException, trace: TracebackType | None) -> None:
        kept = without(trace, directory)
        before(kind, error.with_traceback(kept), kept)

    sys.excepthook = excepthook


def without(trace: TracebackType | None, directory: str) -> TracebackType | None:
    """Return `trace` without the frames of files below `directory`."""
    first: TracebackType | None = None
    last: TracebackType | None = None
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(directory):
            if last is None:
                first = trace
            else:
                last.tb_next = trace
            last = trace
        trace = trace.tb_next
    if last is not None:
        last.tb_next = None
    return first
