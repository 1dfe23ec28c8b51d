"""Every allocator event and every block as rows of a table, made as they are written."""

from __future__ import annotations

from collections.abc import Iterator

from tensorscope.core.schema import CATEGORIES, PHASES
from tensorscope.models.allocations import ALIVE, UNSEEN, find_allocations
from tensorscope.models.frozen_store import StoreLike
from tensorscope.models.stack_labels import StackLabels

Row = list[object]

EVENT_HEADER = (
    "t_s", "address", "delta_bytes", "total_bytes", "category", "device", "stream", "pool", "step", "phase",
    "module", "line",
)  # fmt: skip
BLOCK_HEADER = (
    "address", "size_bytes", "category", "device", "stream", "pool", "module", "name", "line", "step",
    "begin_s", "end_s",
)  # fmt: skip
_CHUNK = 1 << 16


def event_rows(store: StoreLike) -> Iterator[Row]:
    """Yield one row an event, in their order; ten million need no more memory than one chunk."""
    table, labels = store.tables["alloc"], StackLabels(store)
    names = ("t_ns", "address", "delta_bytes", "total_bytes", "category", "device", "stream", "pool", "step",
             "phase", "module", "stack")  # fmt: skip
    for first in range(0, len(table), _CHUNK):
        columns = [table[name][first : first + _CHUNK].tolist() for name in names]
        for t, address, delta, total, category, device, stream, pool, step, phase, module, stack in zip(
            *columns, strict=True
        ):
            yield [
                (t - store.origin_ns) / 1e9, f"0x{address:x}", delta, total, _category(category), device,
                stream,
                store.string(pool), step, PHASES[phase], store.string(module), labels.label(stack),
            ]  # fmt: skip


def block_rows(store: StoreLike) -> Iterator[Row]:
    """Yield one row a block; an empty begin or end was not seen, or has not come."""
    blocks, labels = find_allocations(store), StackLabels(store)
    for i in range(len(blocks)):
        seen = int(blocks.begin_row[i]) != UNSEEN
        end = int(blocks.end_ns[i])
        yield [
            f"0x{int(blocks.address[i]):x}", int(blocks.size_bytes[i]), _category(int(blocks.category[i])),
            int(blocks.device[i]), int(blocks.stream[i]), store.string(int(blocks.pool[i])),
            store.string(int(blocks.module[i])), store.string(int(blocks.name[i])),
            labels.label(int(blocks.stack[i])), int(blocks.step[i]) if seen else "",
            int(blocks.begin_ns[i]) / 1e9 if seen else "", end / 1e9 if end != ALIVE else "",
        ]  # fmt: skip


def _category(index: int) -> str:
    return CATEGORIES[min(index, len(CATEGORIES) - 1)]
