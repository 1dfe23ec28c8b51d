"""Loads pickles of plain values: dictionaries, lists, numbers, text. Nothing is imported or called."""

from __future__ import annotations

import gc
import pickle
from typing import IO, Any

from tensorscope.core.errors import ReaderError

_DAMAGE = (
    pickle.UnpicklingError, EOFError, ValueError, KeyError, IndexError, TypeError, AttributeError,
    OverflowError, RecursionError, UnicodeError,
)  # fmt: skip
"""What the standard library's unpickler raises on bytes that are no pickle."""


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str) -> Any:
        raise ReaderError(
            f"it asks to import {module_name}.{global_name}, which a memory snapshot never needs. "
            "Nothing of it was run."
        )

    def persistent_load(self, pid: Any) -> Any:
        raise ReaderError("it refers to objects outside the file, which a memory snapshot never does.")


def load_plain(file: IO[bytes]) -> Any:
    """Return the value in `file`.

    Raises
    ------
    ReaderError
        If it is damaged, or holds anything but plain values.
    """
    collecting = gc.isenabled()
    gc.disable()  # millions of containers that all stay would be walked again and again
    try:
        return _PlainUnpickler(file, encoding="utf-8", errors="replace").load()
    except _DAMAGE as error:
        reason = str(error) or type(error).__name__
        raise ReaderError(f"the pickle is damaged or cut short ({reason}).") from None
    finally:
        if collecting:
            gc.enable()
