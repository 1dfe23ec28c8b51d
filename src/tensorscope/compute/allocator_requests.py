"""What a program asks an allocator for, as columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ALLOC, FREE, FREE_REQUESTED, STEP_END, EMPTY_CACHE, RELEASED, GOT_SEGMENT, FAILED_ALLOC = range(8)
"""What a request is.

ALLOC, FREE: of a block. FREE_REQUESTED: freed while other streams use it. EMPTY_CACHE: the program
asked for it. FAILED_ALLOC: ran out of memory when it was recorded. RELEASED: the recorded allocator
gave back a segment since its device was full; GOT_SEGMENT: it got one. These two are only replayed
to check the model: another allocator would not have needed to, or not there.
"""

Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Requests:
    """One device's requests in order; columns of equal length.

    Attributes
    ----------
    block
        Number of the block that an ALLOC, FREE or FREE_REQUESTED is about, from 0.
    size_bytes
        As requested; of a segment its size.
    place
        Index into `places`, of (pool, stream).
    address
        Where the block or segment lay when it was recorded.
    t_ns
        Since the session's origin.
    listed
        So many ALLOC stand first: blocks that were there before the recording.
    """

    kind: NDArray[np.uint8]
    block: Longs
    size_bytes: Longs
    place: Longs
    address: NDArray[np.uint64]
    t_ns: Longs
    places: tuple[tuple[str, int], ...]
    blocks: int
    listed: int

    def __len__(self) -> int:
        return len(self.kind)
