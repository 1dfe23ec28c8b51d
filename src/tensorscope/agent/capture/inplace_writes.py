"""In-place writes of a step, and which of them spoil what a node has saved for backward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from tensorscope.agent.capture.tensor_facts import storage_of
from tensorscope.agent.context import column
from tensorscope.core.wire import Column

if TYPE_CHECKING:
    from tensorscope.agent.capture.deep_step import DeepStep

MAX_WRITES = 200_000


class Write(NamedTuple):
    """One tensor that an operator wrote to. `op` and `source` are string ids."""

    storage: int
    sequence_nr: int
    """Nodes below it were made before the write."""
    op: int
    source: int


class WrittenArguments:
    """Which arguments an operator writes to, from its schema; learnt once for each."""

    def __init__(self) -> None:
        self._known: dict[Any, tuple[tuple[int, str], ...]] = {}

    def storages(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int]:
        """Return the addresses of the storages that `func` has written to."""
        places = self._known.get(func)
        if places is None:
            places = self._known[func] = _places(func)
        values = [args[index] if index < len(args) else kwargs.get(name) for index, name in places]
        lists = [value if isinstance(value, (list, tuple)) else (value,) for value in values]
        tensors = [one for each in lists for one in each]
        found = [storage_of(one)[0] for one in tensors if isinstance(one, torch.Tensor)]
        return [address for address in found if address]


def _places(func: Any) -> tuple[tuple[int, str], ...]:
    schema = getattr(func, "_schema", None)
    if schema is None or not schema.is_mutable:
        return ()
    arguments = enumerate(schema.arguments)
    return tuple((i, one.name) for i, one in arguments if one.alias_info and one.alias_info.is_write)


def clobbered(deep: DeepStep) -> tuple[int, int, Write] | None:
    """Return the first (row of a node, string id of what it saved, write) of which backward must fail.

    A write counts where its storage is saved by a node that was made before, and the tensor has counted
    it: batch norm updates its statistics without counting, and backward does not mind.
    """
    if not deep.writes:
        return None
    last: dict[int, Write] = {write.storage: write for write in deep.writes}
    for row, name, facts in deep.walk.saved:
        write = last.get(facts.storage)
        if write is not None and facts.version > 0 and 0 <= deep.walk.numbers[row] < write.sequence_nr:
            return row, name, write
    return None


def write_columns(writes: list[Write]) -> dict[str, Column]:
    """Return the ``write_*`` columns of a ``graph`` record."""
    storage, number, op, source = zip(*writes, strict=True) if writes else ((),) * 4
    return {
        "write_storage": column("u8", storage), "write_seq": column("i8", number),
        "write_op": column("u4", op), "write_source": column("u4", source),
    }  # fmt: skip
