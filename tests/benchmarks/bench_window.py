"""How long the window keeps its main thread at a time while it streams the demo; idle beside it.

A timer asks for a turn every millisecond; the longest time between two turns is a stall: taking in,
refreshing and painting together, and whatever else the machine did. The budget is 50 ms. Building the
views, before the stream, is told apart.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication

from tensorscope.app.application import WindowRequest, make_window
from tensorscope.app.main_window import MainWindow
from tensorscope.core.resource_paths import resource_path
from tensorscope.launch.target import TargetOptions

STREAM_SECONDS, IDLE_SECONDS = 15.0, 5.0


class Stalls(QObject):
    """Milliseconds between the turns that the event loop gives."""

    def __init__(self) -> None:
        super().__init__()
        self.ms: list[float] = []
        self._last = time.perf_counter()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_turn)
        self._timer.start(1)

    def _on_turn(self) -> None:
        now = time.perf_counter()
        self.ms.append((now - self._last) * 1e3)
        self._last = now

    def take(self) -> np.ndarray:
        """Return what was seen since the last time."""
        seen, self.ms = np.array(self.ms or [0.0]), []
        return seen


def run_for(application: QApplication, seconds: float) -> None:
    """Run the event loop."""
    QTimer.singleShot(int(seconds * 1e3), application.quit)
    application.exec()


def wait_for_steps(application: QApplication, window: MainWindow, steps: int) -> None:
    """Run the event loop until the session has `steps`."""
    deadline = time.monotonic() + 60
    while window.controller.session is None or window.controller.session.recorded_steps < steps:
        assert time.monotonic() < deadline, "the demo did not start"
        run_for(application, 0.1)


def report(name: str, value: float, floor: float) -> None:
    """Print one result."""
    line = {
        "name": name, "value": round(value, 2), "unit": "ms", "peer": "the same window, idle",
        "peer_value": round(floor, 2), "ratio": round(value / max(floor, 1e-3), 2),
    }  # fmt: skip
    print(json.dumps(line), flush=True)


def main() -> None:
    """Print one JSON object a line."""
    application = QApplication([])
    stalls = Stalls()
    window = make_window(application, WindowRequest(reset_settings=True))
    window.show()
    window.build_views()
    run_for(application, 3)
    building = stalls.take()
    run_for(application, IDLE_SECONDS)
    idle = stalls.take()
    window.controller.run_script(TargetOptions([str(resource_path("demos/char_gpt.py"))], quiet=True))
    wait_for_steps(application, window, 3)
    opening = stalls.take()
    for panel in ("graph", "tensor", "lab", "findings"):
        window.raise_panel(panel)
        stalls.take()
        window.pump.longest_slice_ms = 0.0
        run_for(application, STREAM_SECONDS / 4)
        seen = stalls.take()
        report(f"window.{panel}.longest_stall", seen.max(), idle.max())
        report(f"window.{panel}.p99_stall", float(np.percentile(seen, 99)), float(np.percentile(idle, 99)))
        report(f"window.{panel}.longest_pump", window.pump.longest_slice_ms, idle.max())
    report("window.building.longest_stall", building.max(), idle.max())
    report("window.opening.longest_stall", opening.max(), idle.max())
    window.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TENSORSCOPE_SETTINGS_DIR"] = str(Path(folder))
        main()
