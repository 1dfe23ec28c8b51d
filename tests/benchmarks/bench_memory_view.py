"""Cost of showing memory: one refresh and paint at 100 k, 1 M and 5 M events, all of it and the last steps.

The peer is pyqtgraph's PlotDataItem with peak downsampling and clipping, showing only the total of the
same events as one curve: less than the view shows, and the best a stock item does. Times are CPU time
of the GUI thread, so that a busy machine does not show. Prints JSON lines.
"""

import json
import os
import statistics
import time

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pyqtgraph as pg
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication

from tensorscope.models.session_model import SessionModel
from tensorscope.views.memory.memory_view import WINDOWS, MemoryView
from tests.support.alloc_stream import append_rows, large_store

SIZE = (1400, 900)
ROUNDS = 9


def view_of(store):
    session = SessionModel("bench")
    session.store = store
    session.go_to_step(session.last_step, follow=True)
    view = MemoryView()
    view.resize(*SIZE)
    view.show()
    slices = []
    view.set_session(session)
    while view._waiting:
        start = time.thread_time()
        view.refresh()
        slices.append(time.thread_time() - start)
        view._later.stop()
    return view, max(slices, default=0.0)


def peer_of(store):
    plot = pg.PlotWidget()
    plot.resize(*SIZE)
    plot.show()
    t = (store.tables["alloc"]["t_ns"] - store.origin_ns) / 1e9
    curve = plot.plot(t, store.tables["alloc"]["total_bytes"].astype(float))
    curve.setDownsampling(auto=True, method="peak")
    curve.setClipToView(True)
    return plot


def timed(action, *args):
    start = time.thread_time()
    action(*args)
    return (time.thread_time() - start) * 1e3


def shown(view):
    view.refresh()
    view.grab()


def peer_shown(plot, seconds):
    plot.setXRange(*seconds, padding=0)
    plot.grab()


def fill():
    QImage(*SIZE, QImage.Format.Format_RGB32).fill(0)


def main():
    app = QApplication.instance() or QApplication([])
    emit("floor: fill one 1400x900 image", [timed(fill) for _ in range(ROUNDS)], "", [])
    for events in (100_000, 1_000_000, 5_000_000):
        store = large_store(events)
        view, worst_slice_s = view_of(store)
        plot = peer_of(store)
        app.processEvents()
        end = float(store.tables["step"]["t1_ns"][-1] - store.origin_ns) / 1e9
        for name, steps, seconds in (("all", 0, (0.0, end)), ("last 20 steps", 20, (end - 0.06, end))):
            view._on_window(WINDOWS.index(steps))
            refresh, ours, peers = [], [], []
            for _ in range(ROUNDS):
                refresh.append(timed(view.refresh))
                ours.append(timed(shown, view))
                plot.setXRange(seconds[0], seconds[1] + 1e-9, padding=0)  # so that the peer resamples
                peers.append(timed(peer_shown, plot, seconds))
            emit(f"memory refresh and paint, {events} events, {name}", ours, "PlotDataItem, total", peers)
            emit(f"memory refresh alone, {events} events, {name}", refresh, "one slice", [16.0])
        tail = {n: store.tables["alloc"][n][-3000:].copy() for n in store.tables["alloc"].names}
        taken = []
        for _ in range(ROUNDS):
            append_rows(store, tail)
            taken.append(timed(view.refresh))
        emit(f"memory refresh with 3000 new events after {events}", taken, "one slice", [16.0])
        emit(f"memory longest slice opening {events} events", [worst_slice_s * 1e3], "bound", [50.0])
        view.close()
        plot.close()


def emit(name, values, peer, peer_values):
    value = statistics.median(values)
    other = statistics.median(peer_values) if peer_values else None
    line = {
        "name": name, "value": round(value, 3), "unit": "ms", "peer": peer,
        "peer_value": other and round(other, 3), "ratio": other and round(value / other, 3),
    }  # fmt: skip
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
