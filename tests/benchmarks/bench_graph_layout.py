"""Time of the graph layout beside Graphviz's dot, its growth with nodes, and frames of 100,000 nodes.

    python -m tests.benchmarks.bench_graph_layout

One JSON object a line: name, value, unit, peer, peer_value, ratio (ours / peer; below 1 is faster).
dot gets the same expanded graph as DOT text, in its own process, at most 60 s.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication

from tensorscope.models.graph_data import GraphData
from tensorscope.models.graph_expansion import first_picture
from tensorscope.models.graph_model import GraphModel, TextSizes, picture_of
from tensorscope.models.session_model import SessionModel
from tensorscope.views.graph.graph_canvas import GraphCanvas
from tensorscope.views.graph.graph_files import write_dot
from tests.support.graphs import GRAPHS, stored_graph, synthetic_graph
from tests.support.sessions import fed

DOT_SECONDS = 60
ROUNDS = 3


def data_of(frames: list) -> GraphData:
    data = GraphModel().resolve(fed(SessionModel(), frames).store, 0).data
    assert data is not None
    return data


def everything(data: GraphData) -> frozenset[str]:
    return frozenset(data.outline.key(group) for group in range(len(data.outline.kind)))


def median_ms(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    times = []
    for _ in range(ROUNDS):
        begin = clock()
        work()
        times.append(1000 * (clock() - begin))
    return statistics.median(times)


def report(name: str, value: float, unit: str, peer: str = "", peer_value: float | None = None) -> None:
    ratio = round(value / peer_value, 4) if peer_value else None
    line = {"name": name, "value": round(value, 3), "unit": unit, "peer": peer or None,
            "peer_value": None if peer_value is None else round(peer_value, 1), "ratio": ratio}  # fmt: skip
    print(json.dumps(line), flush=True)


def dot_ms(data: GraphData, expanded: frozenset[str]) -> float | None:
    """Return the wall time of dot for the same picture, None where it is missing or gives up."""
    program = shutil.which("dot")
    if program is None:
        return None
    text = io.StringIO()
    write_dot(picture_of(data, expanded, TextSizes()), text)
    begin = time.perf_counter()
    try:
        subprocess.run(
            [program, "-Tplain"], input=text.getvalue().encode(), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, timeout=DOT_SECONDS, check=True,
        )  # fmt: skip
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return None
    return 1000 * (time.perf_counter() - begin)


def layouts() -> None:
    for name in ("gpt12", "resnet152", "gpt48", "lstm500"):
        if (GRAPHS / f"{name}.json.gz").exists():
            measure(name, stored_graph(name))


def measure(name: str, frames: list, with_dot: bool = True) -> None:
    text = TextSizes()
    data = data_of(frames)
    keys = everything(data)
    report(f"graph.outline.{name}", median_ms(lambda: data_of(frames).outline), "ms")
    report(f"graph.first.{name}", median_ms(lambda: first_picture(data, text, (1500, 1200))), "ms")
    ours = median_ms(lambda: picture_of(data, keys, text))
    report(f"graph.layout_all.{name}", ours, "ms", "dot -Tplain", dot_ms(data, keys) if with_dot else None)


def growth() -> None:
    for count in (1_000, 10_000, 100_000):
        measure(str(count), synthetic_graph(count), with_dot=False)


def frames_of_many() -> None:
    application = QApplication.instance() or QApplication([])
    data = data_of(synthetic_graph(100_000))
    canvas = GraphCanvas()
    canvas.resize(1600, 1000)
    canvas.show()
    canvas.show_picture(picture_of(data, everything(data), TextSizes()))
    application.processEvents()
    report("graph.frame_fit.100000", median_ms(canvas.grab), "ms")
    canvas.centre_on(canvas.picture.count // 2)
    report("graph.frame_readable.100000", median_ms(canvas.grab), "ms")
    canvas.close()


if __name__ == "__main__":
    layouts()
    growth()
    frames_of_many()
