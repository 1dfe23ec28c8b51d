"""A comparison of allocator settings as plain values, for reports and files."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tensorscope.models.what_if_result import WhatIf, WhatIfRow


def what_if_dict(found: WhatIf) -> dict[str, Any]:
    """Return what JSON can hold; bytes and counts as whole numbers."""
    recorded = found.recorded
    return {
        "device": found.device, "source": found.source, "start": found.start,
        "limit_bytes": found.limit_bytes, "recorded_limit_bytes": found.recorded_limit_bytes,
        "peak_requested_bytes": found.peak_requested_bytes,
        "recorded_peak_reserved_bytes": None if recorded is None else recorded.peak_reserved_bytes,
        "recorded_end_reserved_bytes": None if recorded is None else recorded.end_reserved_bytes,
        "model": asdict(found.exactness),
        "notes": [note.text for note in found.notes],
        "settings": [_row(row) for row in found.rows],
    }  # fmt: skip


def _row(row: WhatIfRow) -> dict[str, Any]:
    replay, failure = row.replay, row.failure
    return {
        "environment": row.settings.environment,
        "empty_cache_each_step": row.settings.empty_cache_each_step,
        "reference": row.is_reference,
        "peak_reserved_bytes": replay.peak_reserved_bytes,
        "difference_bytes": row.difference_bytes,
        "peak_active_bytes": replay.peak_active_bytes,
        "unused_at_peak_bytes": replay.unused_at_peak_bytes,
        "end_reserved_bytes": replay.end_reserved_bytes,
        "segment_allocs": replay.segment_allocs,
        "retries": row.retries,
        "fits": row.fits,
        "first_failure": None if failure is None else asdict(failure),
    }
