"""Lists of Python numbers as columns, refused with a reason where they are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.core.errors import ReaderError


def integers(values: Sequence[Any]) -> NDArray[np.int64]:
    """Return whole numbers of 63 bits and a sign."""
    return _column(values, np.int64)


def unsigned(values: Sequence[Any]) -> NDArray[np.uint64]:
    """Return addresses: whole numbers of 64 bits."""
    return _column(values, np.uint64)


def _column(values: Sequence[Any], dtype: Any) -> NDArray[Any]:
    try:
        column = np.array(values, dtype) if len(values) else np.empty(0, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise ReaderError(f"a number in it cannot be one ({error}).") from None
    if column.ndim != 1:
        raise ReaderError("a number in it is a list.")
    return column
