"""A screen that nobody sees: a real X server for real windows."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def x_display(width_px: int = 1440, height_px: int = 960) -> Iterator[str]:
    """Run an X server of our own and yield its DISPLAY; skip the test where there is none."""
    program = shutil.which("Xvfb")
    if program is None:
        pytest.skip("Xvfb is not installed: no real window can be shown")
    read_end, write_end = os.pipe()
    screen = f"{width_px}x{height_px}x24"
    server = subprocess.Popen(
        [program, "-displayfd", str(write_end), "-screen", "0", screen, "-nolisten", "tcp"],
        pass_fds=(write_end,), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(write_end)
    try:
        with os.fdopen(read_end) as pipe:
            number = pipe.readline().strip()  # it answers once clients can connect
        if not number:
            pytest.skip("Xvfb did not start: no real window can be shown")
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()
