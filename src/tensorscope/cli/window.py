"""Opens the window, where one can be shown."""

from __future__ import annotations

import os
from typing import Any

from tensorscope.core.errors import LaunchError


def has_display() -> bool:
    """Return whether a window could be shown to a person."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def show_window(instead: str, **wanted: Any) -> int:
    """Show the window on what `wanted` (fields of ``WindowRequest``) names, and return the exit code.

    Asked before Qt is: that ends the process where there is no display.

    Raises
    ------
    LaunchError
        If no window can be shown; `instead` is the advice that it gives.
    """
    if not has_display() and not os.environ.get("QT_QPA_PLATFORM"):
        raise LaunchError(f"There is no display to show the window on (DISPLAY is not set). {instead}")
    from tensorscope.app.application import WindowRequest, run_window

    return run_window(WindowRequest(**wanted))
