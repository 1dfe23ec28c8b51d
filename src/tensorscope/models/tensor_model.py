"""The tensors of the step that is shown: rows for the table, and all that is known of one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.strides import CONTIGUOUS, Longs, Strided, layouts
from tensorscope.core.errors import DataError
from tensorscope.core.schema import ROLES
from tensorscope.models.session_store import Record, SessionStore

MAX_AXES = 64


class TensorRows:
    """Columns of one ``tensors`` record, checked, with what follows from them. Immutable."""

    def __init__(self, record: Record, string: Callable[[int], str]) -> None:
        columns = record.columns
        self.record = record
        self.count = len(columns["name"])
        self.ndim: NDArray[np.uint8] = columns["ndim"]
        self.starts = np.concatenate([[0], np.cumsum(self.ndim, dtype=np.int64)])
        self._check(columns)
        self._string = string
        self._sizes: Longs = columns["sizes_elems"]
        self._strides: Longs = columns["strides_elems"]
        self.role, self.device = columns["role"], columns["device"]
        self.itemsize_bytes = columns["itemsize_bytes"].astype(np.int64)
        self.offset: Longs = columns["offset_elems"]
        self.storage, self.storage_bytes = columns["storage"], columns["storage_bytes"]
        self.requires_grad, self.is_leaf = columns["requires_grad"] > 0, columns["is_leaf"] > 0
        self.node, self.version = columns["node"], columns["version"]
        self.layout = layouts(self.ndim, self._sizes, self._strides)
        self._number_storages()

    def _number_storages(self) -> None:
        """Number the storages by address. One address with two sizes is two storages: the first is gone."""
        order = np.lexsort([self.storage_bytes, self.storage])
        address, size = self.storage[order], self.storage_bytes[order]
        new = np.ones(self.count, bool)
        new[1:] = (address[1:] != address[:-1]) | (size[1:] != size[:-1])
        self.storage_id = np.empty(self.count, np.intp)
        self.storage_id[order] = np.cumsum(new) - 1
        counts = np.bincount(self.storage_id, minlength=1)
        self.share_count = np.where(self.storage == 0, 0, counts[self.storage_id])

    def _check(self, columns: Any) -> None:
        axes = int(self.starts[-1])
        if any(len(columns[name]) != axes for name in ("sizes_elems", "strides_elems")):
            raise DataError("sizes and strides of the tensors do not add up to their axes")
        ragged = ("sizes_elems", "strides_elems")
        if any(len(values) != self.count for name, values in columns.items() if name not in ragged):
            raise DataError("columns of the tensors have different lengths")
        if self.count and int(self.ndim.max()) > MAX_AXES:
            raise DataError(f"a tensor has more than {MAX_AXES} axes")
        if (columns["sizes_elems"] < 0).any():
            raise DataError("a tensor has a negative size")

    def __len__(self) -> int:
        return self.count

    def text(self, name: str, row: int) -> str:
        """Return a *string* column's text of `row`."""
        return self._string(int(self.record.columns[name][row]))

    def texts(self, name: str) -> list[str]:
        """Return a whole *string* column."""
        ids = self.record.columns[name]
        unique, at = np.unique(ids, return_inverse=True)
        words = [self._string(int(i)) for i in unique]
        return [words[i] for i in at.tolist()]

    def sizes(self, row: int) -> tuple[int, ...]:
        """Return the shape of `row`."""
        return tuple(self._sizes[self.starts[row] : self.starts[row + 1]].tolist())

    def strides(self, row: int) -> tuple[int, ...]:
        """Return the strides of `row`, in elements."""
        return tuple(self._strides[self.starts[row] : self.starts[row + 1]].tolist())

    def strided(self, row: int) -> Strided:
        """Return how `row` lies in its storage."""
        return Strided(self.sizes(row), self.strides(row), int(self.offset[row]))

    @cached_property
    def numel(self) -> NDArray[np.float64]:
        """Number of elements of every row; float because a lie on the wire may not fit."""
        logs = np.concatenate([[0.0], np.cumsum(np.log(np.maximum(self._sizes, 1)))])
        product = np.exp(logs[self.starts[1:]] - logs[self.starts[:-1]])
        empty = np.concatenate([[0], np.cumsum(self._sizes == 0)])
        return np.where(empty[self.starts[1:]] > empty[self.starts[:-1]], 0.0, np.rint(product))

    @cached_property
    def names(self) -> list[str]:
        """Names of all rows."""
        return self.texts("name")

    @cached_property
    def _row_by_name(self) -> dict[str, int]:
        return dict(zip(reversed(self.names), range(self.count - 1, -1, -1), strict=True))

    def row_of(self, name: str) -> int:
        """Return the first row with that name, -1 if none."""
        return self._row_by_name.get(name, -1)

    def sharing(self, row: int) -> NDArray[np.intp]:
        """Return the rows that share the storage of `row`, itself too; none where it has no storage."""
        mine = self.storage_id == self.storage_id[row]
        return np.flatnonzero(mine) if self.storage[row] else np.empty(0, np.intp)

    def telling_row(self) -> int:
        """Return a row worth seeing first: one of several views of a storage, in an order of its own."""
        rows = np.flatnonzero((self.share_count > 1) & (self.layout > CONTIGUOUS))
        return int(rows[0]) if len(rows) else 0

    def row_of_storage(self, address: int) -> int:
        """Return the first row whose storage is at `address`, -1 if none."""
        rows = np.flatnonzero(self.storage == np.uint64(address))
        return int(rows[0]) if address and len(rows) else -1


@dataclass(frozen=True, eq=False)
class TensorsSnapshot:
    """The table of one step. `stale_steps`: how many steps ago it was captured."""

    rows: TensorRows | None = None
    step: int = -1
    stale_steps: int = 0
    problem: str = ""


@dataclass(frozen=True, eq=False)
class StorageView:
    """One tensor over the storage of the selected one, in bytes of that storage."""

    row: int
    name: str
    role: str
    strided: Strided
    itemsize_bytes: int


@dataclass(frozen=True, eq=False)
class TensorSnapshot:
    """All that is known of one tensor; `views` holds it first, then the others of its storage.

    `problem` is set when what was reported cannot be true; then the layout is not drawn.
    """

    row: int
    name: str
    role: str
    dtype: str
    module: str
    grad_fn: str
    strided: Strided
    itemsize_bytes: int
    storage: int
    storage_bytes: int
    layout: int
    views: tuple[StorageView, ...] = ()
    hidden_views: int = 0
    problem: str = ""
    record: Record | None = field(default=None, repr=False)

    @property
    def storage_elems(self) -> int:
        """Length of the storage in elements of this tensor."""
        return self.storage_bytes // max(1, self.itemsize_bytes)


class TensorModel:
    """Resolves what the tensor view shows; keeps the rows of the record it saw last."""

    def __init__(self) -> None:
        self._rows: TensorRows | None = None
        self._record: Record | None = None
        self._problem = ""

    def resolve(self, store: SessionStore, step: int) -> TensorsSnapshot:
        """Return the tensors of the newest capture at or before `step`."""
        record = store.record_at("tensors", step)
        if record is None:
            return TensorsSnapshot()
        if record is not self._record:
            self._record, self._rows, self._problem = record, None, ""
            try:
                self._rows = TensorRows(record, store.string)
            except DataError as error:
                self._problem = str(error)
        return TensorsSnapshot(self._rows, record.step, max(0, step - record.step), self._problem)


MAX_VIEWS = 24


def resolve_tensor(rows: TensorRows, row: int) -> TensorSnapshot:
    """Return everything about one row and the other tensors of its storage."""
    strided, address = rows.strided(row), int(rows.storage[row])
    others = [int(other) for other in rows.sharing(row) if other != row]
    views = [_view(rows, each) for each in (row, *others[:MAX_VIEWS])]
    storage_bytes, item = int(rows.storage_bytes[row]), int(rows.itemsize_bytes[row])
    return TensorSnapshot(
        row=row, name=rows.text("name", row), role=_role(rows, row), dtype=rows.text("dtype", row),
        module=rows.text("module", row), grad_fn=rows.text("grad_fn", row), strided=strided,
        itemsize_bytes=item, storage=address, storage_bytes=storage_bytes, layout=int(rows.layout[row]),
        views=tuple(view for view in views if _fits(view, storage_bytes)),
        hidden_views=max(0, len(others) - MAX_VIEWS),
        problem="" if _fits(views[0], storage_bytes) else "outside", record=rows.record,
    )  # fmt: skip


def _view(rows: TensorRows, row: int) -> StorageView:
    item = int(rows.itemsize_bytes[row])
    return StorageView(row, rows.text("name", row), _role(rows, row), rows.strided(row), item)


def _fits(view: StorageView, storage_bytes: int) -> bool:
    low, high = view.strided.reach
    return view.itemsize_bytes > 0 and low >= 0 and high * view.itemsize_bytes <= max(storage_bytes, 0)


def _role(rows: TensorRows, row: int) -> str:
    role = int(rows.role[row])
    return ROLES[role] if role < len(ROLES) else ""
