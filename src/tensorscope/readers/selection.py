"""A part of a large file: what lies outside is left out, and what lives at its start becomes the baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorscope.core.errors import ReaderError
from tensorscope.readers.alloc_rows import BLOCK
from tensorscope.readers.allocator_file import AllocatorFile, Columns

ASK_ABOVE = 1_000_000
"""With more events than this, a window asks which of them it should show."""


@dataclass(frozen=True)
class Selection:
    """Events ``first <= number < last``, or steps `first` to `last`, both included; None for no bound."""

    kind: str
    first: int | None = None
    last: int | None = None

    @staticmethod
    def of(text: str, kind: str) -> Selection:
        """Return what ``A:B``, ``A:`` or ``:B`` means. Raises ValueError if it means nothing."""
        first, colon, last = text.partition(":")
        bounds = [int(part) if part else None for part in (first, last)]
        if not colon or any(bound is not None and bound < 0 for bound in bounds):
            raise ValueError(f"{text!r} is no range such as 1000:5000, 1000: or :5000")
        if None not in bounds and bounds[0] > bounds[1]:  # type: ignore[operator]
            raise ValueError(f"{text!r} ends before it begins")
        return Selection(kind, *bounds)


def summary(file: AllocatorFile) -> dict[str, Any]:
    """Return what a person must know to choose: how many events and steps, and how long they take."""
    t_ns = file.alloc.get("t_ns", np.empty(0, np.int64))
    steps = file.step.get("step", np.empty(0, np.int32))
    return {
        "events": len(t_ns),
        "seconds": float(t_ns[-1] - t_ns[0]) / 1e9 if len(t_ns) else 0.0,
        "first_step": int(steps[0]) if len(steps) else None,
        "last_step": int(steps[-1]) if len(steps) else None,
        "ordered": file.ordered,
    }


def cut(file: AllocatorFile, wanted: Selection) -> None:
    """Leave in `file` only what was chosen.

    Raises
    ------
    ReaderError
        If nothing is left.
    """
    count = len(file.alloc.get("t_ns", ()))
    first, last = _rows(file, wanted, count)
    if first >= last:
        raise ReaderError(f"nothing is left of its {count:,} events: choose another range.")
    if (first, last) == (0, count):
        return
    file.baseline = _baseline(file, first)
    begin_ns, end_ns = int(file.alloc["t_ns"][first]), int(file.alloc["t_ns"][last - 1])
    file.alloc = {name: values[first:last] for name, values in file.alloc.items()}
    if file.trace:
        rows = file.trace["alloc_row"]
        low = int(np.searchsorted(rows, first, side="left"))
        high = int(np.searchsorted(rows, last, side="left")) if last < count else len(rows)
        file.trace = {name: values[low:high] for name, values in file.trace.items()}
        file.trace["alloc_row"] = file.trace["alloc_row"] - first
    if last < count and file.segments:
        file.segments = {}
        file.notes.append("The allocator's segments are known at the end of the file, which was not chosen.")
    for kind, name in (("annotation", "t_ns"), ("step", "t1_ns"), ("phase", "t1_ns")):
        columns: Columns = getattr(file, kind)
        if columns:
            inside = (columns[name] >= begin_ns) & (columns[name] <= end_ns)
            setattr(file, kind, {key: values[inside] for key, values in columns.items()})
    file.notes.append(f"Events {first:,} to {last:,} of {count:,} were chosen; what lived before is listed.")


def _rows(file: AllocatorFile, wanted: Selection, count: int) -> tuple[int, int]:
    if wanted.kind == "events":
        return min(wanted.first or 0, count), count if wanted.last is None else min(wanted.last, count)
    steps = file.alloc["step"]
    low = 0 if wanted.first is None else int(np.searchsorted(steps, wanted.first, side="left"))
    high = count if wanted.last is None else int(np.searchsorted(steps, wanted.last, side="right"))
    return low, high


def _baseline(file: AllocatorFile, first: int) -> Columns:
    """Return what lived before row `first`: the old baseline and what came until then, less what went."""
    alloc, base = file.alloc, file.baseline
    count = len(base["address"])
    address = np.concatenate([base["address"], alloc["address"][:first].astype(base["address"].dtype)])
    device = np.concatenate([base["device"], alloc["device"][:first]]).astype(np.int64)
    comes = np.concatenate([np.ones(count, bool), alloc["delta_bytes"][:first] >= 0])
    order = np.lexsort((np.arange(len(address)), address, device))
    a, d = address[order], device[order]
    last = np.ones(len(order), bool)
    last[:-1] = (a[1:] != a[:-1]) | (d[1:] != d[:-1])  # the last event of an address decides
    living = np.sort(order[last & comes[order]])
    size = np.concatenate([base["size_bytes"], alloc["delta_bytes"][:first]])
    found: Columns = {"address": address[living], "size_bytes": size[living], "device": device[living]}
    for name in (*(name for name in BLOCK if name not in found), "name"):
        of_alloc = alloc.get(name, np.zeros(first, np.int64))[:first]
        found[name] = np.concatenate([base[name], of_alloc.astype(np.int64)])[living]
    return found
