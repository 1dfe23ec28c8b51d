"""The native recorder: every allocation that torch reports, through a C++ library and ctypes."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tensorscope.agent.capture.labels import Labels
from tensorscope.agent.capture.ledger import ROW_COLUMNS, Rows
from tensorscope.agent.capture.recorder_build import load_library
from tensorscope.core.wire import ARRAY_CODES, ITEM_BYTES

CAPACITY = 1 << 17
"""Events that a step may have between two drains (40 bytes each)."""
_U64, _I64, _PTR, _INT = ctypes.c_uint64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int
_LABELS = (_I64, _PTR, _PTR, _PTR, _PTR)
_SIGNATURES: Mapping[str, tuple[Any, tuple[Any, ...]]] = {
    "tsr_create": (_PTR, (_PTR, _I64)),
    "tsr_destroy": (None, (_PTR,)),
    "tsr_push": (_INT, (_PTR,)),
    "tsr_pop": (_INT, (_PTR,)),
    "tsr_is_pushed": (_INT, (_PTR,)),
    "tsr_enable": (None, (_PTR, _INT)),
    "tsr_reset": (None, (_PTR, *_LABELS, _PTR)),
    "tsr_mark_forward": (None, (_PTR, _INT)),
    "tsr_mark_input": (None, (_PTR, _U64)),
    "tsr_mark_backward": (None, (_PTR,)),
    "tsr_report": (None, (_PTR, _U64, _I64, ctypes.c_int16)),
    "tsr_finish_step": (_I64, (_PTR, *_LABELS, ctypes.c_uint32)),
    "tsr_list_blocks": (_I64, (_PTR, *_LABELS)),
    "tsr_column": (_PTR, (_PTR, _INT)),
    "tsr_totals": (None, (_PTR, _PTR)),
}
_INDEX = {name: index for index, name in enumerate(ROW_COLUMNS)}
_BLOCK_COLUMNS = {
    "address": "address",
    "delta_bytes": "size_bytes",
    "category": "category",
    "device": "device",
}


class NativeRecorder:
    """Hears torch's allocators in every thread that it is pushed in, and in autograd's on its behalf."""

    kind = "native"
    note = ""

    def __init__(
        self, library: Path, scope: ctypes.c_uint64, inferred: int, capacity: int = CAPACITY
    ) -> None:
        self._lib = load_library(library)
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(self._lib, name)
            function.restype, function.argtypes = result, arguments
        self._scope = scope  # native code reads this cell until tsr_destroy
        self._inferred = inferred
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(scope))  # also while the interpreter comes down
        self._totals = (ctypes.c_int64 * 6)()
        self._self = self._lib.tsr_create(ctypes.addressof(scope), capacity)

    def push(self) -> bool:
        """Hear this thread from now on; False where a profiler of the program does."""
        return bool(self._lib.tsr_push(self._self))

    def pop(self) -> bool:
        """Hear this thread no more; False where that is not possible just now."""
        return bool(self._lib.tsr_pop(self._self))

    def is_pushed(self) -> bool:
        """Return whether this thread is heard."""
        return bool(self._lib.tsr_is_pushed(self._self))

    def enable(self, on: bool) -> None:
        """Listen, or not, in all threads."""
        self._lib.tsr_enable(self._self, on)

    def close(self) -> None:
        """Let go of everything; the recorder cannot be used after this."""
        self._lib.tsr_pop(self._self)
        self._lib.tsr_destroy(self._self)
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(self._scope))

    def reset(self, labels: Labels) -> None:
        """Start the ledger anew with the storages of `labels`; pushed in this thread."""
        storages = labels.storages()
        self._lib.tsr_reset(self._self, *_pointers(labels), _address(storages))

    def report(self, address: int, delta_bytes: int, device: int = -1) -> None:
        """Take in an event as if torch had reported it (tests only)."""
        self._lib.tsr_report(self._self, address, delta_bytes, device)

    def mark_forward(self, begins: bool) -> None:
        """A root module's forward begins, or has ended."""
        self._lib.tsr_mark_forward(self._self, begins)

    def mark_input(self, address: int) -> None:
        """An argument of a root module lies in the block at `address` now."""
        self._lib.tsr_mark_input(self._self, address)

    def mark_backward(self) -> None:
        """The autograd engine begins to run."""
        self._lib.tsr_mark_backward(self._self)

    def finish_step(self, labels: Labels | None) -> Rows | None:
        """End the step; return its rows, or None if some were lost. No labels: only totals matter."""
        count = self._lib.tsr_finish_step(self._self, *_pointers(labels), self._inferred)
        if count < 0:
            return None
        return {name: self._column(name, count) for name in ROW_COLUMNS}

    def list_blocks(self, labels: Labels) -> Rows:
        """Return every live block, categories looked at again by `labels`."""
        count = self._lib.tsr_list_blocks(self._self, *_pointers(labels))
        return {block: self._column(row, count) for row, block in _BLOCK_COLUMNS.items()}

    def totals(self) -> tuple[int, int]:
        """Return live bytes, and the peak of the step that ended last."""
        values = self._read_totals()
        return values[0], values[1]

    @property
    def lost_rows(self) -> int:
        """Rows that were never emitted because the buffer was full."""
        return self._read_totals()[2]

    def out_of_memory(self) -> tuple[int, int, int]:
        """Return how often an allocation failed, and the bytes and device of the last one."""
        count, size_bytes, device = self._read_totals()[3:]
        return count, size_bytes, device

    def _read_totals(self) -> list[int]:
        self._lib.tsr_totals(self._self, self._totals)
        return list(self._totals)

    def _column(self, name: str, count: int) -> array[Any]:
        dtype = ROW_COLUMNS[name]
        column: array[Any] = array(ARRAY_CODES[dtype])
        if count:
            pointer = self._lib.tsr_column(self._self, _INDEX[name])
            column.frombytes(ctypes.string_at(pointer, count * ITEM_BYTES[dtype]))
        return column


def _pointers(labels: Labels | None) -> tuple[int, int, int, int, int]:
    if labels is None:
        return -1, 0, 0, 0, 0
    columns = (labels.addresses, labels.sizes, labels.categories, labels.devices)
    a, b, c, d = (_address(column) for column in columns)
    return len(labels), a, b, c, d


def _address(column: array[Any]) -> int:
    return column.buffer_info()[0]
