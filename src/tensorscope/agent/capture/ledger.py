"""The book of live blocks, and the rules by which each gets its category.

One category a lifetime, the same at its allocation and its free. The first rule that holds wins:

1. A tensor named by the program lies in the block at the end of the step: *parameter*, *gradient*,
   *optimizer_state* or *buffer*, as it is named.
2. An argument of a root module reached it, and no root module's forward made it: *input*.
3. Made in the forward phase (which holds the loss function) and alive when a backward began: *activation*.
4. Died within its step: *temporary*.
5. Alive at the end of its step: *activation* if made in the forward phase, else *unknown*.

A category is settled at the end of the step that the block was made in, or when it dies before that. It
is looked at again only when a new baseline is sent, which replaces all that was said before.

What is not reported is inferred, at the latest when it would make a sum wrong: an allocation where a
block is thought to live frees that block first; a named tensor in no known block makes one; and a block
known only by its tensor (`Block.assumed`) is freed at the end of the step when no tensor names it.

`cuda_ext/allocator_recorder.cpp` keeps the same book, faster.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterator
from typing import Any

from tensorscope.agent.capture.labels import Labels
from tensorscope.core.schema import CATEGORIES, PHASES
from tensorscope.core.wire import ARRAY_CODES

_INPUT, _ACTIVATION = CATEGORIES.index("input"), CATEGORIES.index("activation")
_TEMPORARY, _UNKNOWN = CATEGORIES.index("temporary"), CATEGORIES.index("unknown")
_FORWARD = PHASES.index("forward")
ROW_COLUMNS = {
    "t_ns": "i8", "address": "u8", "delta_bytes": "i8", "total_bytes": "i8", "phase": "u1",
    "category": "u1", "device": "i2", "module": "u4",
}  # fmt: skip
"""Columns that a ledger fills; `step` is the same in all rows of a step."""

Rows = dict[str, "array[Any]"]


class Block:
    """A live allocation."""

    __slots__ = (
        "assumed", "category", "device", "forward", "fresh", "input", "inside", "named_step", "row", "saved",
        "size",
    )  # fmt: skip

    def __init__(self, size: int, device: int, category: int) -> None:
        self.size = size
        self.device = device
        self.category = category
        self.named_step = -1
        self.row = -1
        self.fresh = self.forward = self.inside = self.input = self.saved = self.assumed = False


class Ledger:
    """Plays events in their order; `finish_step` gives the rows of the step."""

    def __init__(self, max_rows: int = 1 << 20) -> None:
        self.max_rows = max_rows
        self.lost_rows = 0
        self.inferred = 0
        self._step = 0
        self._clear()

    def _clear(self) -> None:
        self._blocks: dict[int, Block] = {}
        self._fresh: list[int] = []
        self._assumed: list[int] = []
        self._live: dict[int, int] = {}
        self._total = self._peak = self._step_peak = 0
        self._rows: Rows = {name: array(ARRAY_CODES[dtype]) for name, dtype in ROW_COLUMNS.items()}
        self._lost = self._inside = False

    def reset(self, labels: Labels, reported: bool = False) -> None:
        """Start anew with the blocks of `labels`; `reported`: their frees will be reported."""
        self._clear()
        self._step += 1
        for address, size, category, device in _each(labels):
            if address in self._blocks:
                continue
            block = Block(size, device, category)
            block.assumed = not reported
            self._blocks[address] = block
            if block.assumed:
                self._assumed.append(address)
            self._live[device] = self._live.get(device, 0) + size
            self._total += size
        self._peak = self._total

    def report(self, t_ns: int, address: int, delta_bytes: int, device: int, scope: int) -> None:
        """Take in an allocation (`delta_bytes` > 0) or a free."""
        block = self._blocks.get(address)
        if delta_bytes < 0:
            if block is not None:
                self._end(address, block, t_ns, scope)
            return
        if block is not None:
            self._end(address, block, t_ns, self.inferred << 8 | scope & 0xFF)
        block = Block(delta_bytes, device, _UNKNOWN)
        block.fresh, block.forward, block.inside = True, scope & 0xFF == _FORWARD, self._inside
        self._emit(t_ns, address, block, delta_bytes, scope)
        block.row = len(self._rows["t_ns"]) - 1
        self._blocks[address] = block
        self._fresh.append(address)

    def mark_forward(self, begins: bool) -> None:
        """A root module's forward begins, or has ended."""
        self._inside = begins

    def mark_input(self, address: int) -> None:
        """An argument of a root module lies in the block at `address` now."""
        block = self._blocks.get(address)
        if block is not None and not block.inside:
            block.input = True

    def mark_backward(self) -> None:
        """The autograd engine begins to run."""
        for address in self._fresh:
            block = self._blocks.get(address)
            if block is not None and block.forward:
                block.saved = True

    def finish_step(self, labels: Labels | None) -> Rows | None:
        """End the step; return its rows, or None if some were lost.

        Without `labels` the names are not known this time: only totals are asked for.
        """
        now = time.perf_counter_ns()
        if labels is not None:
            for address, size, category, device in _each(labels):
                self._name(now, address, size, category, device)
        self._settle()
        if labels is not None:
            self._infer_frees(now)
        self._step_peak, self._peak = self._peak, self._total
        self._step += 1
        rows, lost = self._rows, self._lost
        self._rows = {name: array(column.typecode) for name, column in rows.items()}
        self._lost = False
        if lost:
            self.lost_rows += len(rows["t_ns"])
            return None
        return rows

    def list_blocks(self, labels: Labels) -> Rows:
        """Return every live block, categories looked at again by `labels`."""
        for address, _, category, _ in reversed(list(_each(labels))):
            if address in self._blocks:
                self._blocks[address].category = category
        blocks = self._blocks
        return {
            "address": array("Q", blocks),
            "size_bytes": array("q", (block.size for block in blocks.values())),
            "category": array("B", (block.category for block in blocks.values())),
            "device": array("h", (block.device for block in blocks.values())),
        }

    def totals(self) -> tuple[int, int]:
        """Return live bytes, and the peak of the step that ended last."""
        return self._total, self._step_peak

    def _name(self, now: int, address: int, size: int, category: int, device: int) -> None:
        block = self._blocks.get(address)
        if block is not None and block.named_step == self._step:
            return
        if block is not None and block.assumed and block.size != size:
            self._end(address, block, now, self.inferred << 8)  # replaced where we do not look
            block = None
        if block is None:
            block = self._blocks[address] = Block(size, device, category)
            block.assumed = True
            self._assumed.append(address)
            self._emit(now, address, block, size, self.inferred << 8)
        elif block.fresh:
            self._decide(block, category)
        block.named_step = self._step

    def _settle(self) -> None:
        for address in self._fresh:
            block = self._blocks.get(address)
            if block is not None and block.fresh:
                made = _ACTIVATION if block.forward else _UNKNOWN
                self._decide(block, _INPUT if block.input else made)
        self._fresh.clear()
        self._inside = False

    def _infer_frees(self, now: int) -> None:
        kept = []
        for address in self._assumed:
            block = self._blocks.get(address)
            if block is None or not block.assumed:
                continue
            if block.named_step == self._step:
                kept.append(address)
            else:
                self._end(address, block, now, self.inferred << 8)
        self._assumed = kept

    def _end(self, address: int, block: Block, t_ns: int, scope: int) -> None:
        if block.fresh:
            died = _ACTIVATION if block.saved else _TEMPORARY
            self._decide(block, _INPUT if block.input else died)
        self._emit(t_ns, address, block, -block.size, scope)
        del self._blocks[address]

    def _decide(self, block: Block, category: int) -> None:
        block.category, block.fresh = category, False
        if block.row >= 0:
            self._rows["category"][block.row] = category
            block.row = -1

    def _emit(self, t_ns: int, address: int, block: Block, delta: int, scope: int) -> None:
        live = self._live[block.device] = self._live.get(block.device, 0) + delta
        self._total += delta
        self._peak = max(self._peak, self._total)
        rows = self._rows
        if len(rows["t_ns"]) >= self.max_rows:
            self._lose_rows()
            rows = self._rows
        values = (t_ns, address, delta, live, scope & 0xFF, block.category, block.device, scope >> 8)
        for column, value in zip(rows.values(), values, strict=True):
            column.append(value)

    def _lose_rows(self) -> None:
        self.lost_rows += len(self._rows["t_ns"])
        self._rows = {name: array(column.typecode) for name, column in self._rows.items()}
        for block in self._blocks.values():
            block.row = -1
        self._lost = True


def _each(labels: Labels) -> Iterator[tuple[int, int, int, int]]:
    for label in zip(labels.addresses, labels.sizes, labels.categories, labels.devices, strict=True):
        if label[0] and label[1] > 0:
            yield label
