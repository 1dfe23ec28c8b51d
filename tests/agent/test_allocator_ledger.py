"""The rules: the native ledger and the Python one agree, and both add up, on any sequence of events."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorscope.agent.capture.allocator_native import NativeRecorder
from tensorscope.agent.capture.labels import Labels
from tensorscope.agent.capture.ledger import ROW_COLUMNS, Ledger
from tensorscope.agent.capture.recorder_build import build_library
from tensorscope.core.schema import CATEGORIES

INFERRED = 77
ADDRESSES = [0x1000 * (i + 1) for i in range(6)]
SIZES = [64, 256, 4096]
address = st.sampled_from(ADDRESSES)
scope = st.builds(lambda module, phase: module << 8 | phase, st.integers(0, 3), st.integers(0, 3))
device = st.sampled_from([-1, 0, 1])
event = st.one_of(
    st.tuples(st.just("alloc"), address, st.sampled_from(SIZES), device, scope),
    st.tuples(st.just("alloc"), address, st.sampled_from(SIZES), device, scope),
    st.tuples(st.just("free"), address, st.sampled_from(SIZES), device, scope),
    st.tuples(st.just("input"), address),
    st.tuples(st.just("forward"), st.booleans()),
    st.tuples(st.just("backward")),
)
label_rows = st.lists(st.tuples(address, st.sampled_from(SIZES), st.integers(0, 3), device), max_size=5)
steps = st.lists(
    st.tuples(st.lists(event, max_size=25), st.one_of(st.none(), label_rows)), min_size=1, max_size=4
)


def labels_of(rows: list[tuple[int, int, int, int]]) -> Labels:
    labels = Labels()
    for where, size, category, index in rows:
        labels.add(where, size, category, index, f"t{where}")
    return labels


class Pair:
    """Both ledgers, fed alike."""

    def __init__(self, capacity: int = 1 << 12) -> None:
        self.scope = ctypes.c_uint64(0)
        self.native = NativeRecorder(build_library(), self.scope, INFERRED, capacity)
        self.native.enable(True)
        self.python = Ledger()
        self.python.inferred = INFERRED

    def reset(self, labels: Labels) -> None:
        self.native.reset(labels)
        self.python.reset(labels)

    def feed(self, kind: str, *args: Any) -> None:
        if kind in ("alloc", "free"):
            where, size, index, self.scope.value = args
            delta = size if kind == "alloc" else -size
            self.native.report(where, delta, index)
            self.python.report(0, where, delta, index, self.scope.value)
        else:
            for ledger in (self.native, self.python):
                getattr(ledger, f"mark_{kind}")(*args)


@pytest.fixture
def pair():
    pair = Pair()
    yield pair
    pair.native.close()


@settings(max_examples=300, deadline=None)
@given(start=label_rows, script=steps)
def test_that_the_native_ledger_is_the_python_one(start: list, script: list) -> None:
    pair = Pair()
    try:
        pair.reset(labels_of(start))
        for events, named in script:
            for kind, *args in events:
                pair.feed(kind, *args)
            labels = None if named is None else labels_of(named)
            ours, theirs = pair.native.finish_step(labels), pair.python.finish_step(labels)
            for name in ROW_COLUMNS.keys() - {"t_ns"}:
                assert ours[name].tolist() == theirs[name].tolist(), name
            assert pair.native.totals() == pair.python.totals()
        rows = [
            sorted(zip(*map(list, x.list_blocks(Labels()).values()), strict=True))
            for x in (pair.native, pair.python)
        ]
        assert rows[0] == rows[1]
    finally:
        pair.native.close()


@settings(max_examples=200, deadline=None)
@given(start=label_rows, script=steps)
def test_that_any_rows_add_up_and_keep_one_category_a_lifetime(start: list, script: list) -> None:
    ledger = Ledger()
    ledger.reset(labels_of(start))
    first = ledger.list_blocks(Labels())
    live = {a: (s, c, d) for a, s, c, d in zip(*map(list, first.values()), strict=True)}
    for events, named in script:
        peak = sum(size for size, _, _ in live.values())
        for kind, *args in events:
            if kind in ("alloc", "free"):
                where, size, index, value = args
                ledger.report(0, where, size if kind == "alloc" else -size, index, value)
            else:
                getattr(ledger, f"mark_{kind}")(*args)
        rows = ledger.finish_step(None if named is None else labels_of(named))
        for where, delta, total, category, index in zip(
            *(rows[n] for n in ("address", "delta_bytes", "total_bytes", "category", "device")), strict=True
        ):
            if delta > 0:
                assert where not in live
                live[where] = (delta, category, index)
            else:
                assert live.pop(where) == (-delta, category, index)
            assert total == sum(size for size, _, d in live.values() if d == index)
            peak = max(peak, sum(size for size, _, _ in live.values()))
        assert ledger.totals() == (sum(size for size, _, _ in live.values()), peak)


def one_step(pair: Pair, *events: tuple, named: list | None = None) -> list[str]:
    """Return the category of each row of a step made of `events`."""
    for kind, *args in events:
        pair.feed(kind, *args)
    rows = pair.native.finish_step(labels_of(named or []))
    assert rows is not None
    return [CATEGORIES[index] for index in rows["category"]]


A, B, C = ADDRESSES[:3]
OTHER, FORWARD, BACKWARD = 0, 1, 2


def test_that_what_dies_in_its_step_is_temporary(pair: Pair) -> None:
    assert one_step(pair, ("alloc", A, 64, -1, FORWARD), ("free", A, 64, -1, FORWARD)) == ["temporary"] * 2


def test_that_what_forward_made_and_backward_finds_is_activation(pair: Pair) -> None:
    found = one_step(pair, ("alloc", A, 64, -1, FORWARD), ("backward",), ("free", A, 64, -1, BACKWARD))
    assert found == ["activation"] * 2


def test_that_what_was_there_before_forward_is_no_activation(pair: Pair) -> None:
    found = one_step(pair, ("alloc", A, 64, -1, OTHER), ("backward",), ("free", A, 64, -1, BACKWARD))
    assert found == ["temporary"] * 2


def test_that_what_backward_makes_is_no_activation_of_the_next_backward(pair: Pair) -> None:
    found = one_step(
        pair,
        ("backward",),
        ("alloc", A, 64, -1, BACKWARD),
        ("backward",),
        ("free", A, 64, -1, OTHER),
    )
    assert found == ["temporary"] * 2


def test_that_an_argument_of_a_root_is_input_unless_a_root_made_it(pair: Pair) -> None:
    found = one_step(
        pair,
        ("alloc", A, 64, -1, OTHER),
        ("forward", True),
        ("input", A),
        ("alloc", B, 64, -1, FORWARD),  # what a generator makes
        ("forward", False),
        ("alloc", C, 64, -1, FORWARD),  # what the loop makes for the discriminator
        ("forward", True),
        ("input", B),
        ("input", C),
        ("forward", False),
        ("backward",),
    )
    assert found == ["input", "activation", "input"]


def test_that_an_input_mark_means_the_block_that_is_there_at_that_moment(pair: Pair) -> None:
    found = one_step(
        pair,
        ("alloc", A, 64, -1, OTHER),
        ("free", A, 64, -1, OTHER),
        ("alloc", A, 64, -1, OTHER),
        ("input", A),
        ("free", A, 64, -1, OTHER),
        ("alloc", A, 64, -1, OTHER),
    )
    assert found == ["temporary", "temporary", "input", "input", "unknown"]


def test_that_a_name_at_the_end_of_the_step_wins(pair: Pair) -> None:
    found = one_step(pair, ("alloc", A, 64, -1, FORWARD), ("backward",), named=[(A, 64, 1, -1)])
    assert found == ["gradient"]


def test_that_a_category_once_told_is_kept_until_the_free(pair: Pair) -> None:
    assert one_step(pair, ("alloc", A, 64, -1, OTHER)) == ["unknown"]
    assert one_step(pair, named=[(A, 64, 0, -1)]) == []
    assert one_step(pair, ("free", A, 64, -1, OTHER)) == ["unknown"]


def test_that_a_block_known_only_by_its_tensor_goes_when_no_tensor_names_it(pair: Pair) -> None:
    pair.native.reset(labels_of([(A, 64, 1, -1)]))
    assert one_step(pair, named=[(A, 64, 1, -1)]) == []
    rows = pair.native.finish_step(Labels())
    assert rows["delta_bytes"].tolist() == [-64]
    assert rows["module"].tolist() == [INFERRED]


def test_that_a_reused_address_frees_the_old_block_first(pair: Pair) -> None:
    pair.native.reset(labels_of([(A, 64, 1, -1)]))
    pair.feed("alloc", A, 256, -1, 3 << 8 | FORWARD)
    rows = pair.native.finish_step(Labels())
    assert rows["delta_bytes"].tolist() == [-64, 256]
    assert rows["module"].tolist() == [INFERRED, 3]


def test_that_a_free_of_a_baseline_block_takes_off_what_the_baseline_put_on(pair: Pair) -> None:
    pair.native.reset(labels_of([(A, 100, 0, 0)]))  # 100 bytes of a tensor; CUDA frees a block of 512
    pair.feed("free", A, 512, 0, OTHER)
    assert pair.native.finish_step(Labels())["total_bytes"].tolist() == [0]


def test_that_a_full_buffer_loses_rows_and_counts_them_but_no_bytes() -> None:
    pair = Pair(capacity=8)
    try:
        pair.reset(Labels())
        for index in range(30):
            pair.feed("alloc", 64 * (index + 1), 64, -1, FORWARD)
        pair.feed("free", 64, 64, -1, FORWARD)
        assert pair.native.finish_step(Labels()) is None
        assert pair.native.lost_rows == 31
        assert pair.native.totals() == (29 * 64, 30 * 64)
        listed = pair.native.list_blocks(Labels())["address"].tolist()
        assert sorted(listed) == [64 * (index + 1) for index in range(1, 30)]
        assert one_step(pair, ("free", 128, 64, -1, OTHER)) == ["activation"]  # rows again, category kept
        assert pair.native.totals()[0] == 28 * 64
    finally:
        pair.native.close()


def test_that_many_threads_reporting_at_once_lose_nothing() -> None:
    pair = Pair(capacity=1 << 17)
    report = ctypes.CDLL(str(build_library())).tsr_report  # unlike PyDLL, lets other threads run meanwhile
    report.restype, report.argtypes = None, (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int64, ctypes.c_int16)

    def produce(base: int) -> None:
        for i in range(1, 5001):
            report(pair.native._self, base + i, 8, -1)

    try:
        pair.reset(Labels())
        producers = [threading.Thread(target=produce, args=(1 << power,)) for power in (20, 21, 22)]
        for producer in producers:
            producer.start()
        for producer in producers:
            producer.join()
        rows = pair.native.finish_step(Labels())
        assert len(set(rows["address"])) == 15_000
        assert rows["total_bytes"].tolist() == list(range(8, 8 * 15_001, 8))
        assert rows["t_ns"].tolist() == sorted(rows["t_ns"])
    finally:
        pair.native.close()
