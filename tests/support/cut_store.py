"""A session store as it was when it had fewer events."""

from tensorscope.models.frozen_store import FrozenStore


class CutTable:
    def __init__(self, table, rows):
        self._table, self._rows = table, rows

    def __len__(self):
        return self._rows

    def __getitem__(self, name):
        return self._table[name][: self._rows]


class CutStore(FrozenStore):
    """The first `rows` events of a store, and the baselines up to there."""

    def __init__(self, store, rows):
        super().__init__(store)
        self.tables = {**self.tables, "alloc": CutTable(self.tables["alloc"], rows)}
        self._cut = rows

    def records(self, kind):
        return [record for record in super().records(kind) if record.rows.get("alloc", 0) <= self._cut]
