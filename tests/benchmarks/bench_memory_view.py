"""Cost of showing memory: opening, refresh and paint, and frames while panning and zooming.

Peers: pyqtgraph's PlotDataItem with peak downsampling and clipping, showing only the total of the same
events as one curve: less than the view shows, and the best a stock item does. And the plain way: every
event of the window as a corner of a filled polygon for each category. Times are CPU time of the GUI
thread, so that a busy machine does not show. Prints JSON lines; arguments are numbers of events.
"""

import json
import os
import statistics
import sys
import time

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QColor, QImage, QPainter, QTransform
from PySide6.QtWidgets import QApplication

from tensorscope.models.session_model import SessionModel
from tensorscope.views.memory.memory_view import MemoryView
from tests.support.alloc_stream import append_rows, large_store

SIZE = (1400, 900)
SIZES = (22_000, 1_000_000, 10_000_000)
ROUNDS = 9
FRAMES = 60
PLAIN_EVENTS = 2_000_000
"""Beyond, the plain way takes minutes a frame."""
GROUPS_SHOWN = ("category", "module", "phase")


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


def windows(first, last):
    """Return spans as a person visits them: from everything to a few events and back, panning."""
    for frame in range(FRAMES):
        width = (last - first) / 1.6 ** (15 - abs(frame % 30 - 15))
        start = first + (last - first - width) * (frame * 37 % 100) / 100
        yield start, start + width


def plain_frame(live, span):
    """Draw each category of a window of time from its every point."""
    image = QImage(*SIZE, QImage.Format.Format_RGB32)
    image.fill(0)
    begin, end = np.searchsorted(live.times_ns, span)
    if end - begin < 2:
        return
    points = np.arange(begin, end)
    tops = np.cumsum(live.series_bytes(points), axis=1)
    x = np.repeat(live.times_ns[points].astype(float), 2)[1:]
    painter = QPainter(image)
    scale = SIZE[1] / max(1.0, float(tops[:, -1].max()))
    painter.setTransform(QTransform(SIZE[0] / (x[-1] - x[0]), 0, 0, scale, 0, 0))
    for series in reversed(range(tops.shape[1])):
        y = np.repeat(tops[:, series].astype(float), 2)[:-1]
        path = pg.arrayToQPath(np.concatenate([x - x[0], [x[-1] - x[0], 0]]), np.concatenate([y, [0, 0]]))
        painter.fillPath(path, QColor.fromHsv(30 * series, 200, 200))
    painter.end()


def one_frame(app, view, span):
    units = view._chart.units
    view._mover._on_moved(span[0] / units, span[1] / units)
    view._later.stop()
    view.refresh()
    app.processEvents()


def choose(app, view, group):
    view._bar.set_group(group)
    began = time.perf_counter()
    view._bar.group_chosen.emit()
    while not view.is_idle():
        app.processEvents()
    return (time.perf_counter() - began) * 1e3


def pan_and_zoom(app, view, store, events):
    plain = []
    for group in GROUPS_SHOWN:
        took_ms = choose(app, view, group)
        emit(f"memory switched to {group}, {events} events, wall, off the GUI thread", [took_ms], "", [])
        for axis in ("time", "event"):
            view._bar._axes[axis].setChecked(True)
            span = view._model.axis(axis).span()
            ours = [timed(one_frame, app, view, window) for window in windows(*span)]
            if group == "category" and axis == "time" and events <= PLAIN_EVENTS:
                plain = [timed(plain_frame, view._model.live, window) for window in windows(*span)]
            name = f"memory pan and zoom frame, {events} events, by {group}, {axis} axis"
            emit(f"{name}, p95", p95(ours), "every event a corner, p95", p95(plain))
    view._bar._axes["time"].setChecked(True)
    choose(app, view, "category")


def p95(values):
    return [float(np.percentile(values, 95))] if values else []


def fill():
    QImage(*SIZE, QImage.Format.Format_RGB32).fill(0)


def main():
    app = QApplication.instance() or QApplication([])
    emit("floor: fill one 1400x900 image", [timed(fill) for _ in range(ROUNDS)], "", [])
    for events in [int(argument) for argument in sys.argv[1:]] or SIZES:
        store = large_store(events)
        view, worst_slice_s = view_of(store)
        plot = peer_of(store)
        app.processEvents()
        end = float(store.tables["step"]["t1_ns"][-1] - store.origin_ns) / 1e9
        for name, steps, seconds in (("all", 0, (0.0, end)), ("last 20 steps", 20, (end - 0.06, end))):
            view._on_window(steps)
            refresh, ours, peers = [], [], []
            for _ in range(ROUNDS):
                refresh.append(timed(view.refresh))
                ours.append(timed(shown, view))
                plot.setXRange(seconds[0], seconds[1] + 1e-9, padding=0)  # so that the peer resamples
                peers.append(timed(peer_shown, plot, seconds))
            emit(f"memory refresh and paint, {events} events, {name}", ours, "PlotDataItem, total", peers)
            emit(f"memory refresh alone, {events} events, {name}", refresh, "one slice", [16.0])
        pan_and_zoom(app, view, store, events)
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
