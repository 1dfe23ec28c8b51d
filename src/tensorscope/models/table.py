"""A table of numpy columns that grows at its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.core.errors import DataError
from tensorscope.core.wire import Column
from tensorscope.models.frame_checks import check_columns


def column_array(column: Column) -> NDArray[np.generic]:
    """Return `column` as an array that borrows its bytes."""
    return np.frombuffer(column.data, dtype="<" + column.dtype).reshape(column.shape)


class Table:
    """Rows of one stream, one array a column. Amortised O(1) append; GUI thread only.

    Parameters
    ----------
    dtypes
        Column name to dtype (a key of `wire.ITEM_BYTES`).
    optional
        Columns that may be missing from what is appended; they are zero then.
    """

    def __init__(self, dtypes: Mapping[str, str], optional: frozenset[str] = frozenset()) -> None:
        self._optional = optional
        self._arrays = {name: np.empty(1024, dtype="<" + code) for name, code in dtypes.items()}
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return the filled part of a column; borrowed, valid until the next append."""
        return self._arrays[name][: self._length]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._arrays)

    def append(self, columns: Mapping[str, Column]) -> None:
        """Append equal-length one-dimensional columns; columns we do not know are ignored.

        Raises
        ------
        DataError
            If a column is missing, has another dtype or length, or holds what cannot be.
        """
        rows = self._validated(columns)
        check_columns("", rows)
        if not rows:
            return
        count = len(next(iter(rows.values())))
        self._reserve(self._length + count)
        for name, array in self._arrays.items():
            array[self._length : self._length + count] = rows.get(name, 0)
        self._length += count

    def _validated(self, columns: Mapping[str, Column]) -> dict[str, NDArray[np.generic]]:
        rows: dict[str, NDArray[np.generic]] = {}
        counts = set()
        for name, array in self._arrays.items():
            column = columns.get(name)
            if column is None and name in self._optional:
                continue
            if column is None:
                raise DataError(f"column {name!r} is missing")
            if array.dtype != np.dtype("<" + column.dtype) or len(column.shape) != 1:
                raise DataError(
                    f"column {name!r} is {column.dtype}{list(column.shape)}, not {array.dtype}[n]"
                )
            rows[name] = column_array(column)
            counts.add(column.shape[0])
        if len(counts) > 1:
            raise DataError(f"columns have different lengths {sorted(counts)}")
        return rows

    def _reserve(self, capacity: int) -> None:
        for name, array in self._arrays.items():
            if len(array) < capacity:
                grown = np.empty(max(capacity, 2 * len(array)), dtype=array.dtype)
                grown[: self._length] = array[: self._length]
                self._arrays[name] = grown
