"""Settings of CUDA's caching allocator, and how they round what a program asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

KIB, MIB = 1 << 10, 1 << 20
MIN_BLOCK_BYTES = 512
SMALL_BYTES = 1 * MIB
"""Largest request that goes to the small pool."""
SMALL_SEGMENT_BYTES = 2 * MIB
LARGE_SEGMENT_BYTES = 20 * MIB
MIN_OWN_SEGMENT_BYTES = 10 * MIB
"""Smallest request that gets a segment of its own size."""
SEGMENT_STEP_BYTES = 2 * MIB
UNLIMITED = 1 << 62

_INTERVALS = 16  # of sizes: below 2 MiB, 2 to 4 MiB, ... from 32 GiB on
_FIRST_INTERVAL_LOG2 = 20

Longs = NDArray[np.int64]


@dataclass(frozen=True)
class AllocatorSettings:
    """What ``PYTORCH_CUDA_ALLOC_CONF`` says, as far as it decides where blocks go.

    Attributes
    ----------
    roundup_power2_divisions
        One entry an interval of sizes, each a doubling; 0 or 1 rounds to 512 bytes as usual.
    empty_cache_each_step
        Not a setting: the program calls ``torch.cuda.empty_cache()`` at the end of each step.
    """

    expandable_segments: bool = False
    max_split_bytes: int = UNLIMITED
    max_non_split_rounding_bytes: int = LARGE_SEGMENT_BYTES
    large_segment_bytes: int = LARGE_SEGMENT_BYTES
    roundup_power2_divisions: tuple[int, ...] = (0,) * _INTERVALS
    garbage_collection_threshold: float = 0.0
    empty_cache_each_step: bool = False

    @property
    def environment(self) -> str:
        """The value of ``PYTORCH_CUDA_ALLOC_CONF``; empty for PyTorch's defaults."""
        parts = []
        if self.expandable_segments:
            parts.append("expandable_segments:True")
        if self.max_split_bytes < UNLIMITED:
            parts.append(f"max_split_size_mb:{self.max_split_bytes // MIB}")
        if self.max_non_split_rounding_bytes != LARGE_SEGMENT_BYTES:
            parts.append(f"max_non_split_rounding_mb:{self.max_non_split_rounding_bytes // MIB}")
        if self.large_segment_bytes != LARGE_SEGMENT_BYTES:
            parts.append(f"large_segment_size_mb:{self.large_segment_bytes // MIB}")
        if any(division > 1 for division in self.roundup_power2_divisions):
            parts.append(f"roundup_power2_divisions:{_divisions_text(self.roundup_power2_divisions)}")
        if self.garbage_collection_threshold > 0:
            parts.append(f"garbage_collection_threshold:{self.garbage_collection_threshold:g}")
        return ",".join(parts)

    def round_sizes(self, size_bytes: Longs) -> Longs:
        """Return what each request becomes before a block is looked for."""
        size = size_bytes.astype(np.int64)
        rounded = np.maximum(-(-size // MIN_BLOCK_BYTES) * MIN_BLOCK_BYTES, MIN_BLOCK_BYTES)
        if not any(division > 1 for division in self.roundup_power2_divisions):
            return rounded
        log2 = np.frexp(np.maximum(size, 1).astype(np.float64))[1].astype(np.int64) - 1
        interval = np.clip(log2 - _FIRST_INTERVAL_LOG2, 0, _INTERVALS - 1)
        divisions = np.array(self.roundup_power2_divisions, np.int64)[interval]
        step = np.left_shift(1, log2) >> (np.frexp(np.maximum(divisions, 1).astype(np.float64))[1] - 1)
        divided = np.where(step > 0, -(-size // np.maximum(step, 1)) * step, np.left_shift(2, log2))
        return np.where((divisions > 1) & (size > MIN_BLOCK_BYTES * divisions), divided, rounded)

    def segment_bytes(self, rounded_bytes: int) -> int:
        """Return how much is asked of the device for a block of that size."""
        if rounded_bytes <= SMALL_BYTES:
            return SMALL_SEGMENT_BYTES
        if rounded_bytes < MIN_OWN_SEGMENT_BYTES:
            return self.large_segment_bytes
        return -(-rounded_bytes // SEGMENT_STEP_BYTES) * SEGMENT_STEP_BYTES


def uniform_divisions(divisions: int) -> tuple[int, ...]:
    """Return the same divisions for every size."""
    return (divisions,) * _INTERVALS


def recorded_settings(said: Mapping[str, Any]) -> AllocatorSettings:
    """Return the settings that a snapshot writes; what it leaves out is as PyTorch's defaults are."""
    text = str(said.get("PYTORCH_CUDA_ALLOC_CONF", said.get("PYTORCH_ALLOC_CONF", "")) or "")
    max_split = _whole(said.get("max_split_size"), -1)
    return AllocatorSettings(
        expandable_segments=bool(said.get("expandable_segments", False)),
        max_split_bytes=max_split if 0 < max_split < UNLIMITED else UNLIMITED,
        max_non_split_rounding_bytes=_megabytes(text, "max_non_split_rounding_mb", LARGE_SEGMENT_BYTES),
        large_segment_bytes=_megabytes(text, "large_segment_size_mb", LARGE_SEGMENT_BYTES),
        roundup_power2_divisions=_recorded_divisions(said.get("roundup_power2_divisions")),
        garbage_collection_threshold=_fraction(said.get("garbage_collection_threshold")),
    )


def _divisions_text(divisions: tuple[int, ...]) -> str:
    if len(set(divisions)) == 1:
        return str(divisions[0])
    return "[" + ",".join(f"{1 << index}:{max(1, one)}" for index, one in enumerate(divisions)) + "]"


def _recorded_divisions(said: Any) -> tuple[int, ...]:
    if not isinstance(said, Mapping):
        return (0,) * _INTERVALS
    return tuple(min(max(_whole(said.get(str(1 << index)), 0), 0), 1 << 20) for index in range(_INTERVALS))


def _megabytes(text: str, name: str, missing: int) -> int:
    found = re.search(rf"\b{name}\s*:\s*(\d{{1,9}})\b", text)
    return int(found.group(1)) * MIB if found and int(found.group(1)) > 0 else missing


def _whole(value: Any, missing: int) -> int:
    return int(value) if isinstance(value, (int, float)) and abs(value) < float("inf") else missing


def _fraction(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) and 0 < value < 1 else 0.0
