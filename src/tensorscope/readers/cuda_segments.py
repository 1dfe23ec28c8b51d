"""The segments and blocks of a CUDA snapshot: what the allocator held when it was written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscope.core.errors import ReaderError
from tensorscope.core.schema import BLOCK_STATES, CATEGORIES
from tensorscope.readers.allocator_file import AllocatorFile, Columns
from tensorscope.readers.numbers import integers, unsigned

_STATES = {
    "inactive": 0, "active_allocated": 1, "active_pending_free": 2,
    "active_awaiting_free": 2,  # so the documentation spells it
}  # fmt: skip
_SEGMENT_KEYS = frozenset({
    "device", "address", "total_size", "stream", "segment_type", "allocated_size", "active_size",
    "requested_size", "is_expandable", "segment_pool_id", "frames", "blocks",
})  # fmt: skip


class CudaSegments:
    """Columns of a ``segments`` record, and the living blocks among them.

    Attributes
    ----------
    known
        Whether the file holds a state at all.
    living
        Columns of `alloc_rows.BLOCK` of the blocks that are not free.
    """

    def __init__(
        self, segments: Any, file: AllocatorFile, stream_of: Callable[[Sequence[Any]], NDArray[np.uint16]]
    ) -> None:
        if not isinstance(segments, (list, tuple)) or not all(isinstance(s, Mapping) for s in segments):
            raise ReaderError("its 'segments' are not a list of segments.")
        self._file = file
        self.known = len(segments) > 0
        columns = self._segments(segments, stream_of)
        blocks = [_blocks_of(segment) for segment in segments]
        columns |= self._blocks(blocks, columns["segment_address"])
        self.columns = columns
        self.living = self._living()

    def _segments(self, segments: Sequence[Mapping[str, Any]], stream_of: Callable[..., Any]) -> Columns:
        file = self._file
        for key in set().union(*({*segment} for segment in segments[:1000])):
            if key not in _SEGMENT_KEYS:
                file.count_unknown(f"segment key {str(key)[:40]}")
        return {
            "segment_address": unsigned([segment["address"] for segment in segments]),
            "segment_bytes": integers([segment["total_size"] for segment in segments]),
            "segment_device": integers([segment.get("device", 0) for segment in segments]).astype("i2"),
            "segment_stream": stream_of([segment.get("stream", 0) for segment in segments]),
            "segment_pool": file.strings.ids_of(
                [pool_name(segment.get("segment_pool_id")) for segment in segments]
            ),
            "segment_large": np.array([segment.get("segment_type") != "small" for segment in segments], "u1"),
            "segment_expandable": np.array([bool(s.get("is_expandable")) for s in segments], "u1"),
            "segment_stack": file.stacks.ids_of([segment.get("frames") for segment in segments]),
        }  # fmt: skip

    def _blocks(self, blocks: list[list[Mapping[str, Any]]], starts: NDArray[np.uint64]) -> Columns:
        flat = [block for group in blocks for block in group]
        owner = np.repeat(np.arange(len(blocks)), [len(group) for group in blocks])
        sizes = integers([block["size"] for block in flat])
        if (sizes < 0).any():
            raise ReaderError("a block in it has a negative size.")
        states = [_STATES.get(str(block.get("state")), 1) for block in flat]
        return {
            "block_segment": owner.astype("i4"), "block_address": _addresses(flat, owner, sizes, starts),
            "block_bytes": sizes,
            "block_requested_bytes": integers([_requested(b) for b in flat]),
            "block_state": np.array(states, "u1"),
            "block_stack": self._file.stacks.ids_of([_frames(block) for block in flat]),
        }  # fmt: skip

    def _living(self) -> Columns:
        columns = self.columns
        at = np.flatnonzero(columns["block_state"] != BLOCK_STATES.index("inactive"))
        owner = columns["block_segment"][at]
        return {
            "address": columns["block_address"][at], "size_bytes": columns["block_requested_bytes"][at],
            "device": columns["segment_device"][owner].astype(np.int64),
            "stream": columns["segment_stream"][owner], "pool": columns["segment_pool"][owner],
            "stack": columns["block_stack"][at],
            "category": np.full(len(at), CATEGORIES.index("unknown"), np.int64),
        }  # fmt: skip

    def pool_of(
        self, address: NDArray[np.uint64], device: NDArray[np.int64], events: Sequence[Mapping[str, Any]]
    ) -> NDArray[np.int64]:
        """Return the pool of each event: as it says, else that of the segment now at its address."""
        starts, sizes = self.columns["segment_address"], self.columns["segment_bytes"]
        found = np.zeros(len(address), np.int64)
        if len(starts):
            order = np.argsort(starts, kind="stable")
            at = order[np.clip(np.searchsorted(starts[order], address, side="right") - 1, 0, None)]
            away = address.astype(np.uint64) - starts[at]
            inside = (address >= starts[at]) & (away < sizes[at].astype(np.uint64))
            inside &= self.columns["segment_device"][at] == device
            found = np.where(inside, self.columns["segment_pool"][at], 0)
        if any("pool_id" in event for event in events[:100]):
            ids = self._file.strings.ids_of([pool_name(event.get("pool_id")) for event in events])
            said = np.array(["pool_id" in event for event in events], bool)
            found = np.where(said, ids, found)
        return found


def pool_name(pool: Any) -> str:
    """Return how the schema writes a pool: the default pool is the empty text."""
    if pool is None or tuple(pool) == (0, 0):
        return ""
    return f"({', '.join(str(part) for part in pool)})"


def _blocks_of(segment: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    blocks = segment.get("blocks", [])
    if not isinstance(blocks, (list, tuple)) or not all(isinstance(block, Mapping) for block in blocks):
        raise ReaderError("the blocks of a segment are not a list of blocks.")
    return list(blocks)


def _requested(block: Mapping[str, Any]) -> Any:
    """Return what was asked for; layouts before 2.1 say so in the block's history."""
    if "requested_size" in block:
        return block["requested_size"]
    history = block.get("history")
    return history[0].get("real_size", block["size"]) if history else block["size"]


def _frames(block: Mapping[str, Any]) -> Any:
    if "frames" in block:
        return block["frames"]
    history = block.get("history")
    return history[0].get("frames") if history else None


def _addresses(
    blocks: list[Mapping[str, Any]], owner: NDArray[np.int64], sizes: NDArray[np.int64],
    starts: NDArray[np.uint64],
) -> NDArray[np.uint64]:  # fmt: skip
    """Return where each block lies; layouts before 2.1 leave it to be added up from the segment's start."""
    if all("address" in block for block in blocks):
        return unsigned([block["address"] for block in blocks])
    ends = np.cumsum(sizes)
    before = ends - sizes
    first = np.searchsorted(owner, np.arange(len(starts)), side="left")
    offset = before - before[first[owner]] if len(blocks) else before
    return starts[owner] + offset.astype(np.uint64)
