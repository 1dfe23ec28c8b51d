"""Who we are: the meta of the ``hello`` frame."""

from __future__ import annotations

import os
import platform
import socket
import sys
import time
from typing import Any

import torch

from tensorscope.core.schema import COMMANDS
from tensorscope.core.version import VERSION
from tensorscope.core.wire import PROTOCOL_VERSION


def hello_meta(origin_ns: int, level: str, allocator: Any) -> dict[str, Any]:
    """Return what `schema` says of ``hello``. `allocator` is the memory capture, or None."""
    main = sys.modules.get("__main__")
    return {
        "protocol": PROTOCOL_VERSION,
        "agent_version": VERSION,
        "pid": os.getpid(),
        "argv": [str(part)[:1000] for part in sys.argv[:100]],
        "script": str(getattr(main, "__file__", None) or (sys.argv or [""])[0]),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "devices": _devices(),
        "rank": _number("RANK", 0),
        "world_size": _number("WORLD_SIZE", 1),
        "host": socket.gethostname(),
        "origin_ns": origin_ns,
        "origin_unix_ns": time.time_ns() - (time.perf_counter_ns() - origin_ns),
        "level": level,
        "recorder": allocator.recorder_kind if allocator else "none",
        "recorder_note": allocator.recorder_note if allocator else "",
        "capabilities": list(COMMANDS),
    }


def _devices() -> list[dict[str, Any]]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    devices = [{"name": platform.machine(), "kind": "cpu", "total_bytes": memory}]
    # Asking CUDA anything would initialise it, which is the program's business.
    if torch.cuda.is_initialized():
        for index in range(torch.cuda.device_count()):
            found = torch.cuda.get_device_properties(index)
            devices.append({"name": found.name, "kind": "cuda", "total_bytes": found.total_memory})
    return devices


def _number(variable: str, default: int) -> int:
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else default
