"""What the profiler's `export_memory_timeline` writes: the raw events, or sizes by category over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.lifetimes import ALLOCATED, FREED
from tensorscope.core.errors import ReaderError
from tensorscope.core.schema import CATEGORIES
from tensorscope.readers.alloc_rows import BLOCK, alloc_rows
from tensorscope.readers.allocator_file import AllocatorFile, Columns
from tensorscope.readers.block_matching import BlockMatcher
from tensorscope.readers.numbers import integers

_PREEXISTING, _CREATE, _INCREMENT, _DESTROY = 1, 2, 3, 4
_THEIRS = (
    "parameter", "optimizer_state", "input", "temporary", "activation", "gradient", "temporary", "unknown",
)  # fmt: skip
"""Our category for each of theirs; what they call autograd detail dies within its step, too."""
CATEGORY = np.array([CATEGORIES.index(name) for name in _THEIRS])


def is_memory_timeline(document: Any) -> bool:
    """Return whether a loaded document has one of the two forms."""
    if not isinstance(document, list) or not document or not all(isinstance(one, list) for one in document):
        return False
    return _is_sizes(document) or all(len(one) == 4 for one in document[:100])


def _is_sizes(document: list[Any]) -> bool:
    return len(document) == 2 and len(document[0]) == len(document[1]) and isinstance(
        next(iter(document[1]), []), list
    )  # fmt: skip


def read_memory_timeline(document: list[Any]) -> AllocatorFile:
    """Return the events of a loaded document. Raises ReaderError if they cannot be."""
    try:
        return _from_sizes(document) if _is_sizes(document) else _from_raw(document)
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        raise ReaderError(f"its memory timeline is damaged ({type(error).__name__}: {error}).") from None


def _from_raw(rows: Sequence[Sequence[Any]]) -> AllocatorFile:
    """Follow each block through its versions; it counts as what it became last."""
    file = AllocatorFile("memory-timeline")
    columns = [integers([row[at] for row in rows]) for at in range(4)]
    t_ns, action, _, category = columns
    if len(rows) and not ((action >= 1) & (action <= 4) & (category >= 0) & (category < 8)).all():
        raise ReaderError("its memory timeline has actions or categories that nobody knows.")
    matcher, became = BlockMatcher(), dict[int, int]()
    events: list[tuple[int, int, int, int]] = []  # t, kind, address, size
    waiting: list[tuple[int, int]] = []
    for t, what, bytes_, kind in zip(*(column.tolist() for column in columns), strict=True):
        key, amount = (abs(bytes_), kind), abs(bytes_)
        if what in (_PREEXISTING, _CREATE):
            events.append((t, ALLOCATED, matcher.begin(key, amount), amount))
        elif what == _DESTROY:
            events.append((t, FREED, matcher.end(key, amount), amount))
        elif bytes_ < 0:
            waiting.append(key)
            continue
        elif waiting:
            address = matcher.become(waiting.pop(), key)
            if address is not None:
                became[address] = kind
            continue
        else:
            events.append((t, ALLOCATED, matcher.begin(key, amount), amount))
        became[events[-1][2]] = kind
    file.notes.append(
        "Addresses were not recorded: a free is matched with the youngest block of its size and category. "
        "A block counts as the category it had last."
    )
    first = int(t_ns[t_ns >= 0].min()) if (t_ns >= 0).any() else 0
    return _filled(file, events, became, first)


def _from_sizes(document: list[Any]) -> AllocatorFile:
    """Cut each category's curve into blocks that last as long as they can."""
    file = AllocatorFile("memory-timeline")
    times = integers(document[0])
    sizes = np.array(document[1], np.int64)
    if sizes.ndim != 2 or sizes.shape[1] not in (8, 9):
        raise ReaderError("its memory timeline has another number of categories than eight.")
    sizes = sizes[:, -8:]
    blocks: list[tuple[int, int, int, int]] = []  # begin, end, size, category
    for category in range(8):
        blocks += _nested(times.tolist(), sizes[:, category].tolist(), category)
    events, became = [], {}
    for number, (begin, end, size, category) in enumerate(blocks):
        address = (number + 1) << 32
        became[address] = category
        events.append((begin, ALLOCATED, address, size))
        if end >= 0:
            events.append((end, FREED, address, size))
    events.sort(key=lambda event: (event[0], event[1]))
    file.notes.append(
        "The file holds sums by category, not blocks: the blocks shown are parts of these sums."
    )
    return _filled(file, events, became, int(times.min()) if len(times) else 0)


def _nested(times: list[int], sizes: list[int], category: int) -> list[tuple[int, int, int, int]]:
    found, open_blocks, now = [], list[tuple[int, int]](), 0
    for t, size in zip(times, sizes, strict=True):
        if size > now:
            open_blocks.append((t, size - now))
        surplus = now - size
        while surplus > 0:
            begin, top = open_blocks.pop()
            part = min(top, surplus)
            found.append((begin, t, part, category))
            surplus -= part
            if part < top:
                open_blocks.append((begin, top - part))
        now = size
    return found + [(begin, -1, size, category) for begin, size in open_blocks]


def _filled(
    file: AllocatorFile, events: list[tuple[int, int, int, int]], became: dict[int, int], first_ns: int
) -> AllocatorFile:
    t_ns, kind, address, size = (
        integers(column) for column in (zip(*events, strict=True) if events else [()] * 4)
    )
    count = len(events)
    zeros = np.zeros(count, np.int64)
    columns: Columns = {
        "address": address.astype(np.uint64), "size_bytes": size, "device": zeros - 1, "stream": zeros,
        "pool": zeros, "stack": zeros, "category": _categories(address, became),
    }  # fmt: skip
    early = t_ns < 0  # there before the profiler began
    last_early = int(early.sum())
    order = np.argsort(~early, kind="stable")
    columns = {name: values[order] for name, values in columns.items()}
    kind, t_ns = kind[order], t_ns[order]
    before = {name: values[:last_early] for name, values in columns.items()}
    after = {name: values[last_early:] for name, values in columns.items()}
    found = alloc_rows(after, kind[last_early:].astype(np.int8), None)
    file.origin_ns = first_ns
    known = found.baseline["address"].tolist()
    extra = ~np.isin(before["address"], np.array(known, np.uint64))
    file.baseline = {
        name: np.concatenate([found.baseline[name], before[name][extra]]) for name in found.baseline
    } | {"name": np.zeros(len(known) + int(extra.sum()), "u4")}
    rows, unknown = found.rows, int(before["size_bytes"][extra].sum())
    file.alloc = {
        **{name: rows[name] for name in (*BLOCK, "delta_bytes") if name != "size_bytes"},
        "t_ns": t_ns[last_early:][rows["event"]], "total_bytes": rows["total_bytes"] + unknown,
        **dict.fromkeys(("step", "phase", "module"), np.zeros(len(rows["event"]), np.int64)),
    }  # fmt: skip
    return file


def _categories(address: NDArray[np.int64], became: dict[int, int]) -> NDArray[np.int64]:
    return CATEGORY[np.array([became.get(one, 7) for one in address.tolist()], np.int64)]
