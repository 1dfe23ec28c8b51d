"""A session store turned back into the frames it was made of, for a session file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensorscope.core.wire import Column, Frame
from tensorscope.models.session_store import SessionStore

ROWS_A_FRAME = 1 << 17
_STRINGS_A_FRAME = 2048


def saved_frames(store: SessionStore) -> list[Frame]:
    """Return frames that rebuild `store`; their columns borrow its arrays, which never change.

    Every record stands after exactly those stream rows that had arrived before it. GUI thread; the
    frames may then be used in any thread.
    """
    frames = [
        Frame("strings", meta={"first": at, "values": store.strings[at : at + _STRINGS_A_FRAME]})
        for at in range(1, len(store.strings), _STRINGS_A_FRAME)
    ]
    done = dict.fromkeys(store.tables, 0)
    for record in store.all_records():
        for kind, stop in record.rows.items():
            frames += _rows(store, kind, done[kind], stop)
            done[kind] = stop
        columns = {name: _column(array) for name, array in record.columns.items()}
        frames.append(Frame(record.kind, record.step, record.clock_ns, 0, record.meta, columns))
    for kind, start in done.items():
        frames += _rows(store, kind, start, len(store.tables[kind]))
    if store.heartbeat:
        frames.append(Frame("heartbeat", meta=store.heartbeat))
    return frames


def _rows(store: SessionStore, kind: str, start: int, stop: int) -> list[Frame]:
    table = store.tables[kind]
    frames = []
    for at in range(start, stop, ROWS_A_FRAME):
        end = min(at + ROWS_A_FRAME, stop)
        columns = {name: _column(table[name][at:end]) for name in table.names}
        step = int(table["step"][end - 1]) if "step" in table.names else -1
        frames.append(Frame(kind, step, columns=columns))
    return frames


def _column(array: NDArray[np.generic]) -> Column:
    flat = np.ascontiguousarray(array)
    data = flat.data.cast("B") if flat.size else b""
    return Column(flat.dtype.str[1:], flat.shape, data)
