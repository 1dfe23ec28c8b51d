"""Every block of the CUDA caching allocator, for a baseline: sizes as the allocator counts them."""

from __future__ import annotations

from typing import Any

import torch

from tensorscope.agent.capture.labels import Labels
from tensorscope.core.schema import CATEGORIES

_UNKNOWN = CATEGORIES.index("unknown")


def add_cuda_blocks(labels: Labels) -> None:
    """Bring `labels` to what the CUDA allocator holds, if the program uses CUDA.

    Its blocks are larger than the tensors in them, and it reports the free of each with its full size.
    Blocks that hold no named tensor are added as unknown.
    """
    if not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return
    merge_segments(labels, torch.cuda.memory_snapshot())


def merge_segments(labels: Labels, segments: list[dict[str, Any]]) -> None:
    """Bring `labels` to what `segments` say, in the layout of ``torch.cuda.memory_snapshot()``."""
    rows = {address: row for row, address in enumerate(labels.addresses)}
    for segment in segments:
        for block in segment["blocks"]:
            if block["state"] != "active_allocated":
                continue
            row = rows.get(block["address"])
            if row is None:
                labels.add(block["address"], block["size"], _UNKNOWN, segment["device"], "", owned=True)
            else:
                labels.sizes[row] = block["size"]
