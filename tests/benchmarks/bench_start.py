"""How long it takes from the command until it has answered, and until the window has been painted.

Each round starts a plain interpreter beside it, so that a busy machine shows in both.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time

ROUNDS = 9
_WINDOW = """
from tensorscope.app.application import QApplication, WindowRequest, make_window
application = QApplication([])
window = make_window(application, WindowRequest())
window.show()
application.processEvents()
"""
COMMANDS = {
    "start.plain": ["-c", "pass"],
    "start.version": ["-m", "tensorscope", "--version"],
    "start.window": ["-c", _WINDOW + "print('painted', flush=True)\nimport os\nos._exit(0)"],
}


def milliseconds(arguments: list[str]) -> float:
    """Return how long a process with `arguments` took."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return (time.perf_counter() - start) * 1e3


def main() -> None:
    """Print one JSON object a line."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, arguments in COMMANDS.items():
            times[name].append(milliseconds(arguments))
    plain = statistics.median(times.pop("start.plain"))
    for name, values in times.items():
        value = statistics.median(values)
        line = {
            "name": name, "value": round(value, 1), "unit": "ms", "peer": "python -c pass",
            "peer_value": round(plain, 1), "ratio": round(value / plain, 2),
        }  # fmt: skip
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
