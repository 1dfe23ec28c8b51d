"""How long work learns that nobody waits for it any more."""

from __future__ import annotations

from collections.abc import Callable

Cancelled = Callable[[], bool]
"""Asked now and then by long work; where it returns True, the work raises `CancelledError`."""


class CancelledError(Exception):
    """Somebody gave up the work; there is no result."""
