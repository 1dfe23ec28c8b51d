"""Numbers as a person reads them: binary prefixes for bytes, SI for time, an en dash for what is missing."""

from __future__ import annotations

import math

MISSING = "–"
BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def format_bytes(count: float | None) -> str:
    """Return ``1.50 MiB`` for 1572864; an en dash for None, NaN and infinity."""
    if count is None or not math.isfinite(count):
        return MISSING
    size, unit = abs(count), 0
    while size >= 1024 and unit < len(BYTE_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    sign = "−" if count < 0 else ""
    return f"{sign}{three_digits(size) if unit else f'{size:.0f}'} {BYTE_UNITS[unit]}"


def format_ns(duration_ns: float | None) -> str:
    """Return ``12.3 ms`` for 12_300_000; an en dash for None, NaN and infinity."""
    if duration_ns is None or not math.isfinite(duration_ns):
        return MISSING
    sign, size = ("−" if duration_ns < 0 else ""), abs(duration_ns)
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if size >= scale * 0.9995:
            return f"{sign}{three_digits(size / scale)} {unit}"
    return f"{sign}{size:.0f} ns"


def three_digits(size: float) -> str:
    """Return a number >= 0 with at least three significant digits and no exponent."""
    if size >= 99.95:
        return f"{size:.0f}"
    return f"{size:.1f}" if size >= 9.995 else f"{size:.2f}"
