"""Says whether the meta of a known frame has the types that the schema promises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensorscope.core.errors import DataError

_NULL = type(None)
_META: dict[str, dict[str, tuple[type, ...]]] = {
    "hello": {
        "protocol": (int,), "agent_version": (str,), "pid": (int,), "argv": (list,), "script": (str,),
        "python": (str,), "torch": (str,), "devices": (list,), "rank": (int,), "world_size": (int,),
        "host": (str,), "origin_ns": (int,), "origin_unix_ns": (int,), "level": (str,), "recorder": (str,),
        "recorder_note": (str,), "capabilities": (list,),
    },
    "notice": {"severity": (str,), "code": (str,), "text": (str,)},
    "heartbeat": {
        "steps": (int,), "outbox_bytes": (int,), "dropped_frames": (int,), "dropped_events": (int,),
        "agent_cpu_ns": (int,),
    },
    "toggle": {"name": (str,), "on": (bool,), "params": (dict, _NULL), "variant": (str,)},
    "graph": {
        "loss": (float, int, _NULL), "root_names": (list,), "compiled": (bool,), "truncated": (bool,),
        "gradients": (bool,), "failed": (str, _NULL), "calls": (list,), "first_seq": (int,),
        "module_hooks": (int,),
    },
    "kept": {"count": (int,), "nodes": (int,), "truncated": (bool,), "took_ns": (int,)},
    "reply": {"id": (int,), "ok": (bool,), "error": (str, _NULL), "step": (int, _NULL)},
    "bye": {"reason": (str,)},
}  # fmt: skip


def check_meta(kind: str, meta: Mapping[str, Any]) -> None:
    """Raise `DataError` if a known key of the meta has the wrong type, or a number outside 64 bits."""
    for name, types in _META.get(kind, {}).items():
        if name not in meta:
            continue
        value = meta[name]
        if not isinstance(value, types) or (bool not in types and isinstance(value, bool)):
            raise DataError(f"{name!r} cannot be {str(value)[:40]!r}")
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise DataError(f"{name!r} is out of range")
    for name in ("devices", "calls"):
        if name in _META.get(kind, {}) and not all(isinstance(one, dict) for one in meta.get(name, ())):
            raise DataError(f"{name!r} holds something else than {name}")
