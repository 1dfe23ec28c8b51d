"""From the command to the first picture of a memory snapshot, and frames while panning and zooming.

    python -m tests.benchmarks.bench_open_snapshot [--large]

One JSON object a line. Files: a handed real one, and the same events repeated to 258 k, 771 k and, with
--large, 10 M events, as MemoryViz was measured. The floor beside each is `pickle.load` alone. A process is
started for each, so what is timed includes the interpreter, Qt and the reader's own process.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

REAL = "data/snapshots/gpt_medium_ctx512_train_2026.pickle"
SIZES = {"22k": 22_332, "258k": 257_700, "771k": 770_700}
LARGE = {"10M": 10_000_000}


def shared(name: str) -> Path | None:
    root = Path(__file__).resolve().parents[2]
    return next((p / "shared" / name for p in root.parents if (p / "shared" / name).exists()), None)


def repeated(document: dict, events: int) -> dict:
    """Repeat the events that leave nothing behind, each round a while later, up to `events`."""
    trace = document["device_traces"][0]
    closed, living = [], set()
    for event in trace:
        action, address = event["action"], event.get("addr")
        if action == "alloc":
            living.add(address)
        elif not action.startswith("free") or address not in living:
            continue
        closed.append(event)
        if action == "free_completed":
            living.discard(address)
    round_ = [event for event in closed if event.get("addr") not in living]
    span = trace[-1]["time_us"] - trace[0]["time_us"] + 100
    found = list(trace)
    number = 0
    while len(found) < events:
        number += 1
        found += [{**event, "time_us": event["time_us"] + number * span} for event in round_]
    return {**document, "device_traces": [found[:events] if events < len(trace) else found]}


def child(path: str) -> None:
    """Open the file in a window, wait for the picture, then pan and zoom."""
    import resource

    begun = float(os.environ["BENCH_BEGUN"])
    from PySide6.QtWidgets import QApplication

    from tensorscope.models.session_loading import load_session
    from tensorscope.views.memory.memory_view import MemoryView

    application = QApplication([])
    view = MemoryView()
    view.resize(1600, 1000)
    view.show()
    application.processEvents()
    view.grab()
    opened = time.perf_counter()
    session = load_session(Path(path))
    view.set_session(session)
    while view.snapshot() is None:
        application.processEvents()
        view.refresh()
    view.grab()
    painted, from_start = time.perf_counter() - opened, time.time() - begun
    while not view.is_idle():
        application.processEvents()
        view.refresh()
    settled = time.perf_counter() - opened
    frames = []
    for number in range(60):
        low, high = view._chart.x_range()
        centre, half = (low + high) / 2, (high - low) / 2
        factor = 0.8 if number % 20 < 10 else 1.25
        at = time.perf_counter()
        view._chart.moved.emit(centre + 0.05 * half - factor * half, centre + 0.05 * half + factor * half)
        view.refresh()
        view._chart.grab()
        frames.append(1000 * (time.perf_counter() - at))
    frames.sort()
    status = Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]
    found = {
        "open_to_paint_s": painted, "process_to_paint_s": from_start, "settled_s": settled,
        "frame_p95_ms": frames[int(0.95 * len(frames))], "rss_bytes": int(status) * 1024,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "events": len(session.store.tables["trace"]), "problems": session.problems,
    }  # fmt: skip
    print(json.dumps(found))


FLOOR = """
import pickle, sys, time
begun = time.perf_counter()
pickle.load(open(sys.argv[1], "rb"))
print(time.perf_counter() - begun)
"""


def floor_s(path: Path) -> float:
    command = [sys.executable, "-c", FLOOR, str(path)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main(large: bool) -> None:
    real = shared(REAL)
    if real is None:
        print(json.dumps({"name": "open_snapshot", "skipped": f"{REAL} is not beside the checkout"}))
        return
    document = pickle.loads(real.read_bytes())
    with tempfile.TemporaryDirectory() as folder:
        for name, events in {**SIZES, **(LARGE if large else {})}.items():
            path = real
            if events > SIZES["22k"]:
                path = Path(folder) / f"{name}.pickle"
                with path.open("wb") as file:
                    pickle.dump(repeated(document, events), file, protocol=4)
            environment = {**os.environ, "BENCH_BEGUN": str(time.time())}
            done = subprocess.run(
                [sys.executable, "-m", "tests.benchmarks.bench_open_snapshot", "--child", str(path)],
                env=environment, capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                print(json.dumps({"name": f"open_snapshot.{name}", "error": done.stderr[-400:]}))
                continue
            found = json.loads(done.stdout)
            size = path.stat().st_size
            found |= {"name": f"open_snapshot.{name}", "file_bytes": size, "floor_load_s": floor_s(path)}
            found["rss_to_file"] = found["rss_bytes"] / size
            line = {k: round(v, 3) if isinstance(v, float) else v for k, v in found.items()}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    if "--child" in sys.argv:
        child(sys.argv[-1])
    else:
        main("--large" in sys.argv)
