"""A session store as it was at one moment, for work in other threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from numpy.typing import NDArray

from tensorscope.models.session_store import Record, SessionStore
from tensorscope.models.stack_table import StackTable


class TableLike(Protocol):
    """What `Table` and a frozen table have in common."""

    def __len__(self) -> int: ...

    def __getitem__(self, name: str) -> NDArray[Any]: ...


class StoreLike(Protocol):
    """What readers of a `SessionStore` need of it; a `FrozenStore` has it, too."""

    @property
    def tables(self) -> Mapping[str, TableLike]: ...  # noqa: D102

    @property
    def stacks(self) -> StackTable: ...  # noqa: D102

    @property
    def origin_ns(self) -> int: ...  # noqa: D102

    def string(self, index: int) -> str: ...  # noqa: D102

    def records(self, kind: str) -> list[Record]: ...  # noqa: D102


class _FrozenTable:
    def __init__(self, columns: Mapping[str, NDArray[Any]], length: int) -> None:
        self._columns, self._length = columns, length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]


class FrozenStore:
    """Borrows the arrays of a store, which only ever grow behind what is borrowed.

    Make it in the thread that feeds the store; read it in any.
    """

    def __init__(self, store: SessionStore) -> None:
        self.tables = {
            kind: _FrozenTable({name: table[name] for name in table.names}, len(table))
            for kind, table in store.tables.items()
        }
        self.stacks = store.stacks
        self.origin_ns = store.origin_ns
        self.hello, self.version = store.hello, store.version
        self._records = {record.kind: list[Record]() for record in store.all_records()}
        for record in store.all_records():
            self._records[record.kind].append(record)
        self.strings = store.strings

    def string(self, index: int) -> str:
        """Return interned string `index`, or a marked placeholder if it never arrived."""
        return self.strings[index] if 0 <= index < len(self.strings) else f"?{index}"

    def records(self, kind: str) -> list[Record]:
        """Return every record of `kind`, oldest first."""
        return self._records.get(kind, [])
