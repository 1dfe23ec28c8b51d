"""Steps aside for a profiler that the program starts itself: torch allows one a thread."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

_PLACES = (
    ("torch.autograd.profiler", "_enable_profiler"),
    ("torch.autograd.profiler_legacy", "_enable_profiler_legacy"),
    ("torch.autograd", "_enable_profiler"),
    ("torch.autograd", "_enable_profiler_legacy"),
)


class ProfilerGuard:
    """Calls `step_aside` in the program's thread just before its profiler is enabled."""

    def __init__(self, step_aside: Callable[[], None]) -> None:
        self.step_aside = step_aside
        self._patched: list[tuple[Any, str, Any, Any]] = []

    def install(self) -> None:
        """Wrap torch's enabling functions where its own code calls them by name."""
        for module_name, name in _PLACES:
            module = importlib.import_module(module_name)
            original = getattr(module, name, None)
            if original is not None:
                wrapper = self._wrap(original)
                setattr(module, name, wrapper)
                self._patched.append((module, name, original, wrapper))

    def remove(self) -> None:
        """Restore what is still ours; a wrapper that somebody has wrapped in turn just calls on."""
        self.step_aside = _nothing
        for module, name, original, wrapper in self._patched:
            if getattr(module, name) is wrapper:
                setattr(module, name, original)
        self._patched.clear()

    def _wrap(self, original: Any) -> Any:
        def enable(*args: Any, **kwargs: Any) -> Any:
            self.step_aside()
            return original(*args, **kwargs)

        return enable


def _nothing() -> None:
    pass
