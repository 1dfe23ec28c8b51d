"""What the driver says of a GPU's memory, through NVML's C library; nothing is installed for it."""

from __future__ import annotations

import ctypes
import os
from typing import Any

_LIBRARY = "libnvidia-ml.so.1"
_MOST_PROCESSES = 256
UNKNOWN = -1


class _Process(ctypes.Structure):
    """``nvmlProcessInfo_v2_t`` of nvml.h."""

    _fields_ = [
        ("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("instance", ctypes.c_uint),
        ("compute", ctypes.c_uint),
    ]  # fmt: skip


class Nvml:
    """Asks for the memory that this process holds on each device; `UNKNOWN` wherever that fails."""

    def __init__(self) -> None:
        self._library: Any = None
        self._handles: dict[str, ctypes.c_void_p] = {}
        self.problem = ""
        """Why nothing is known, for a person; empty while all is well."""
        try:
            library = ctypes.CDLL(_LIBRARY)
            if library.nvmlInit_v2() == 0:
                self._library = library
            else:
                self.problem = "NVML could not be started, so the driver's view of this process is not known."
        except (OSError, AttributeError) as error:
            self.problem = f"NVML is not there, so the driver's view of this process is not known ({error})."

    def process_bytes(self, uuid: str) -> int:
        """Return the bytes that this process holds on the device with that UUID ("GPU-…")."""
        if self._library is None or not uuid:
            return UNKNOWN
        try:
            handle = self._handle(uuid)
            count = ctypes.c_uint(_MOST_PROCESSES)
            rows = (_Process * _MOST_PROCESSES)()
            call = self._library.nvmlDeviceGetComputeRunningProcesses_v3
            if handle is None or call(handle, ctypes.byref(count), rows) != 0:
                return UNKNOWN
        except AttributeError:
            return UNKNOWN
        own = [row.used for row in rows[: count.value] if row.pid == os.getpid()]
        # In a container the driver sees another process id; all ones means "not available".
        return int(own[0]) if own and own[0] < 2**63 else UNKNOWN

    def _handle(self, uuid: str) -> ctypes.c_void_p | None:
        found = self._handles.get(uuid)
        if found is None:
            found = ctypes.c_void_p()
            if self._library.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(found)) != 0:
                return None
            self._handles[uuid] = found
        return found

    def close(self) -> None:
        """Let go of the library's state."""
        if self._library is not None:
            self._library.nvmlShutdown()
            self._library = None
            self._handles.clear()
