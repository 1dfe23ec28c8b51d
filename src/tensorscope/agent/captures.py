"""Which captures run at which level, and how one that fails is put aside."""

from __future__ import annotations

import importlib
from typing import Any

from tensorscope.agent.capture.capture import Capture
from tensorscope.agent.context import Context

PACKAGE = "tensorscope.agent.capture."
REGISTRY = {
    "allocator": ("allocator", "AllocatorCapture"),
    "device_memory": ("device_memory", "DeviceMemoryCapture"),
    "cuda_history": ("cuda_history", "CudaHistoryCapture"),
    "graph": ("autograd", "AutogradCapture"),
    "kept": ("kept_graphs", "KeptGraphs"),
    "tensors": ("tensors", "TensorsCapture"),
    "ops": ("ops", "OpsCapture"),
}
"""Name -> (module below `PACKAGE`, class). Imported when first needed."""
BY_LEVEL = {
    "pulse": ("allocator",),
    "scope": ("allocator", "device_memory", "cuda_history"),
    "deep": ("allocator", "device_memory", "graph", "cuda_history", "tensors", "ops", "kept"),
}
"""In the order in which they are told of things."""
_EVENTS = ("before_forward", "after_forward", "before_backward", "after_backward")


class Captures:
    """The captures that run now. Training thread, and for `start` and `stop` a step boundary."""

    def __init__(self, context: Context, wait: bool) -> None:
        self._context = context
        self.wait = wait
        """Whether a capture that starts may take seconds: only while no user code runs yet."""
        self._broken: set[str] = set()
        self._aside: dict[str, Capture] = {}
        self._active: dict[str, Capture] = {}
        self._told: dict[str, tuple[Capture, ...]] = dict.fromkeys(_EVENTS, ())

    def get(self, name: str) -> Any:
        """Return a running capture, or None."""
        return self._active.get(name)

    @property
    def recorder_kind(self) -> str:
        """Which memory recorder runs: it may come later than the capture, when it has been built."""
        allocator = self._active.get("allocator")
        return str(getattr(allocator, "recorder_kind", "none"))

    def run_level(self, level: str | None) -> None:
        """Start and stop captures until those of `level` run; of None, none."""
        wanted = BY_LEVEL[level] if level else ()
        rows = level != "pulse"
        unwanted = [name for name in self._active if name not in wanted]
        self._aside.update((name, self._active.pop(name)) for name in unwanted)
        self._stop_put_aside()
        for name in wanted:
            if name not in self._active and name not in self._broken:
                self._start(name, rows)
        allocator = self.get("allocator")
        if allocator is not None:
            self._call(allocator, "set_rows", rows)
        self._active = {name: self._active[name] for name in wanted if name in self._active}
        self._find_told()

    def tell(self, method: str, *args: Any) -> None:
        """Call `method` of all running captures."""
        for capture in tuple(self._active.values()):
            self._call(capture, method, *args)

    def event(self, method: str, *args: Any) -> None:
        """Call one of the four hooks of the captures that listen to it."""
        for capture in self._told[method]:
            self._call(capture, method, *args)

    def _start(self, name: str, rows: bool) -> None:
        module, kind = REGISTRY[name]
        try:
            found = getattr(importlib.import_module(PACKAGE + module), kind)
            options = {"wait": self.wait, "rows": rows} if name == "allocator" else {}
            capture = self._active[name] = found(self._context, **options)
        except Exception as error:  # noqa: BLE001  (nothing of ours may reach the training loop)
            self._broken.add(name)
            self._report(name, "could not be loaded", error)
            return
        self._call(capture, "start")

    def _stop_put_aside(self) -> None:
        for name, capture in self._aside.items():
            self._stop(name, capture)
        self._aside.clear()

    def _stop(self, name: str, capture: Capture) -> None:
        try:
            capture.stop()
        except Exception as error:  # noqa: BLE001
            self._broken.add(name)
            self._report(name, "could not be stopped cleanly", error)

    def _call(self, capture: Capture, method: str, *args: Any) -> None:
        try:
            getattr(capture, method)(*args)
        except Exception as error:  # noqa: BLE001
            name = next((n for n, c in self._active.items() if c is capture), capture.name)
            if self._active.pop(name, None) is not None:
                self._broken.add(name)
                self._aside[name] = capture
                self._find_told()
                self._report(name, f"failed in {method} and was switched off", error)

    def _find_told(self) -> None:
        for event in _EVENTS:
            base = getattr(Capture, event)
            listening = (c for c in self._active.values() if getattr(type(c), event) is not base)
            self._told[event] = tuple(listening)

    def _report(self, name: str, what: str, error: Exception) -> None:
        text = f"Capture {name!r} {what}: {type(error).__name__}: {error}"
        self._context.notice("error", "capture-failed", text)
