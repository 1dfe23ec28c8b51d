"""The answer to the command ``holders`` as lines of text."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

MAX_LINES = 12


def holders_html(meta: Mapping[str, Any], nothing: str) -> str:
    """Return who holds the blocks, one a line; the error if there was one; `nothing` if nobody does."""
    if meta.get("error"):
        return escape(str(meta["error"]))
    result = meta.get("result")
    blocks = result.get("blocks") if isinstance(result, Mapping) else None
    texts = [
        str(holder.get("text", ""))
        for block in (blocks if isinstance(blocks, list) else [])
        if isinstance(block, Mapping) and isinstance(block.get("holders"), list)
        for holder in block["holders"]
        if isinstance(holder, Mapping)
    ]
    counts: dict[str, int] = {}
    for text in texts:
        counts[text] = counts.get(text, 0) + 1
    lines = [
        f"{escape(text)} ×{n}" if n > 1 else escape(text) for text, n in list(counts.items())[:MAX_LINES]
    ]
    return "<br>".join(lines) if lines else escape(nothing)
