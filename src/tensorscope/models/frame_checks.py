"""Says whether the content of a known frame can be true, so that no view needs to doubt an index."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tensorscope.core.errors import DataError
from tensorscope.core.schema import BLOCK_STATES, CATEGORIES, LEVELS, NODE_KINDS, NONFINITE, PHASES, ROLES

_BOUNDS = {
    "phase": len(PHASES), "category": len(CATEGORIES), "level": len(LEVELS), "role": len(ROLES),
    "block_state": len(BLOCK_STATES), "stage": 2, "node_kind": len(NODE_KINDS),
    "node_nonfinite": len(NONFINITE), "edge_nonfinite": len(NONFINITE), "output_nonfinite": len(NONFINITE),
}  # fmt: skip
_NOT_NEGATIVE = ("step", "size_bytes", "storage_bytes", "sizes_elems", "saved_bytes", "node_saved_bytes")
_RAGGED = ("sizes_elems", "strides_elems")
_GROUPS = ("node_", "edge_", "saved_", "write_", "output_")
"""Columns of a graph that begin alike have one length."""

Columns = Mapping[str, NDArray[np.generic]]


def check_columns(kind: str, columns: Columns) -> None:
    """Raise `DataError` unless indices, lengths and counts of a frame's columns agree."""
    for name, array in columns.items():
        bound = _BOUNDS.get(name)
        if bound is not None and array.size and int(array.max()) >= bound:
            raise DataError(f"column {name!r} holds {int(array.max())}, the largest known is {bound - 1}")
        if name in _NOT_NEGATIVE and array.size and int(array.min()) < 0:
            raise DataError(f"column {name!r} holds the negative number {int(array.min())}")
    if kind == "graph":
        _check_graph(columns)
    elif kind == "segments":
        _check_segments(columns)
    elif kind == "stacks":
        _check_lengths(["file", "line", "function"], columns)
    elif kind == "tensors":
        _check_tensors(columns)
    elif kind == "values":
        if columns and any(array.ndim != 2 for array in columns.values()):
            raise DataError("values are not a table of rows and columns")
    else:
        _check_lengths(columns, columns)


def _check_lengths(names: Mapping[str, object] | list[str], columns: Columns) -> int:
    lengths = {columns[name].shape for name in names if name in columns}
    if len(lengths) > 1 or any(len(shape) != 1 for shape in lengths):
        raise DataError(f"columns {sorted(names)[:4]} … have different lengths")
    return lengths.pop()[0] if lengths else 0


def _check_graph(columns: Columns) -> None:
    counts = {
        prefix: _check_lengths([name for name in columns if name.startswith(prefix)], columns)
        for prefix in _GROUPS
    }
    for name in ("edge_from", "edge_to", "saved_node"):
        array = columns.get(name)
        if (
            array is not None
            and array.size
            and not 0 <= int(array.min()) <= int(array.max()) < counts["node_"]
        ):
            raise DataError(f"column {name!r} names a node that is not among the {counts['node_']}")


def _check_segments(columns: Columns) -> None:
    count = _check_lengths([name for name in columns if name.startswith("segment_")], columns)
    _check_lengths([name for name in columns if name.startswith("block_")], columns)
    owner = columns.get("block_segment")
    if owner is not None and owner.size and not 0 <= int(owner.min()) <= int(owner.max()) < count:
        raise DataError(f"a block lies in a segment that is not among the {count}")


def _check_tensors(columns: Columns) -> None:
    _check_lengths([name for name in columns if name not in _RAGGED], columns)
    total = int(columns["ndim"].sum(dtype=np.int64)) if "ndim" in columns else 0
    for name in _RAGGED:
        if name in columns and columns[name].shape != (total,):
            raise DataError(
                f"column {name!r} has {columns[name].size} entries, its tensors have {total} axes"
            )
