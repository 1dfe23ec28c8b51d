"""Curves beside the live bytes: what thinning and adding up devices must keep."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorscope.core.wire import Frame
from tensorscope.models.memory_axis import TIME, MemoryAxis
from tensorscope.models.memory_curves import DRIVER_PROCESS, DRIVER_USED, PROCESS, RESERVED, MemoryCurves
from tensorscope.models.memory_model import MemoryModel
from tensorscope.models.memory_snapshot import ALL_DEVICES
from tensorscope.models.session_store import SessionStore
from tests.support.alloc_stream import append_rows
from tests.support.sample_frames import ORIGIN_NS

SAMPLES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1 << 40)), min_size=1, max_size=200)


def store_of(samples):
    store = SessionStore()
    store.ingest(Frame("hello", meta={"origin_ns": ORIGIN_NS}))
    table, count = store.tables["device_memory"], len(samples)
    data = {name: np.zeros(count, table[name].dtype) for name in table.names}
    data["process_bytes"] = data["reserved_bytes"] = np.full(count, -1)
    data["t_ns"] = ORIGIN_NS + 10 * np.arange(count)
    data["device"] = np.array([device for device, _ in samples], np.int16)
    data["used_bytes"] = np.array([size for _, size in samples], np.int64)
    append_rows(store, data, "device_memory")
    return store


def axis_of(store):
    return MemoryAxis(TIME, MemoryModel(store).live, 0)


@given(SAMPLES)
@settings(max_examples=60, deadline=None)
def test_that_all_devices_are_the_sum_of_the_newest_value_of_each(samples):
    store, now, wanted = store_of(samples), {}, []
    for device, size in samples:
        now[device] = size
        wanted.append(sum(now.values()))
    curve = MemoryCurves(store).in_window(DRIVER_USED, axis_of(store), (0, 10_000), 1000, ALL_DEVICES)
    assert curve.bytes.tolist() == wanted


@given(SAMPLES, st.integers(1, 20), st.integers(0, 1000), st.integers(1, 2000))
@settings(max_examples=100, deadline=None)
def test_that_a_thinned_curve_keeps_the_extremes_of_its_window(samples, columns, first, width):
    store = store_of([(0, size) for _, size in samples])
    window = first, first + width
    curve = MemoryCurves(store).in_window(DRIVER_USED, axis_of(store), window, columns, 0)
    sizes = [size for _, size in samples]
    carried = [size for i, size in enumerate(sizes) if 10 * i < first][-1:]
    seen = carried + [size for i, size in enumerate(sizes) if first <= 10 * i <= first + width]
    assert (curve.bytes.max(), curve.bytes.min()) == (max(seen), min(seen))
    assert len(curve.x) <= 2 * columns + 1 or len(curve.x) == len(seen)
    assert (np.diff(curve.x) > 0).all()


def test_that_only_curves_with_samples_are_offered():
    store = store_of([(0, 5)])
    known = MemoryCurves(store).known(ALL_DEVICES)
    assert DRIVER_USED in known
    assert DRIVER_PROCESS not in known
    assert PROCESS not in known


@pytest.mark.parametrize("name", [DRIVER_USED, RESERVED])
def test_that_curves_are_worked_out_once_until_more_comes(name, monkeypatch):
    store, asked = store_of([(0, 5), (0, 7)]), []
    curves = MemoryCurves(store)
    work = curves._points
    monkeypatch.setattr(curves, "_points", lambda *args: asked.append(args) or work(*args))
    for _ in range(3):
        curves.in_window(name, axis_of(store), (0, 100), 10, 0)
    assert len(asked) == 1
    append_rows(store, {n: store.tables["device_memory"][n][-1:].copy() for n in
                        store.tables["device_memory"].names}, "device_memory")  # fmt: skip
    curves.in_window(name, axis_of(store), (0, 100), 10, 0)
    assert len(asked) == 2
