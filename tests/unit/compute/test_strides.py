import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorscope.compute.coverage import covered_between, distinct_elems, reads_between, runs_of
from tensorscope.compute.strides import CONTIGUOUS, LAYOUTS, Strided, elements_at, layouts, overlaps

axis = st.tuples(st.integers(0, 5), st.integers(0, 9))


@st.composite
def strideds(draw, signed=False):
    axes = draw(st.lists(axis, max_size=4))
    signs = [draw(st.sampled_from([1, -1])) if signed else 1 for _ in axes]
    strides = tuple(s * sign for (_, s), sign in zip(axes, signs, strict=True))
    return Strided(tuple(n for n, _ in axes), strides, draw(st.integers(0, 40)))


def enumerated(tensor):
    """Return {position: [indices]} the slow way."""
    found = {}
    for index in itertools.product(*(range(n) for n in tensor.sizes)):
        found.setdefault(tensor.position(index), []).append(index)
    return found


def layout(sizes, strides):
    at = layouts(np.array([len(sizes)], np.uint8), np.array(sizes, np.int64), np.array(strides, np.int64))
    return LAYOUTS[at[0]]


@given(strideds(signed=True))
def test_that_the_elements_of_every_place_equal_the_enumeration(tensor):
    found = enumerated(tensor)
    low, high = tensor.reach
    assert all(low <= place < high for place in found)
    if found:
        assert (low, high) == (min(found), max(found) + 1)
    for place in range(low - 2, high + 2):
        got = [tuple(index) for index in elements_at(tensor, place, limit=10_000).tolist()]
        assert sorted(got) == found.get(place, [])


@given(strideds(signed=True))
def test_that_overlap_equals_the_enumeration(tensor):
    assert overlaps(tensor.sizes, tensor.strides) == any(len(i) > 1 for i in enumerated(tensor).values())


@given(st.lists(strideds(), min_size=1, max_size=6))
def test_that_layouts_of_many_tensors_equal_those_of_each_and_the_enumeration(tensors):
    ndim = np.array([len(t.sizes) for t in tensors], np.uint8)
    sizes = np.array([n for t in tensors for n in t.sizes], np.int64)
    strides = np.array([s for t in tensors for s in t.strides], np.int64)
    for tensor, found in zip(tensors, layouts(ndim, sizes, strides), strict=True):
        name = LAYOUTS[found]
        assert name == layout(tensor.sizes, tensor.strides)
        places = [tensor.position(i) for i in itertools.product(*(range(n) for n in tensor.sizes))]
        apart = len(set(places)) == len(places)
        if name in ("contiguous", "scalar"):
            assert places == list(range(tensor.offset, tensor.offset + len(places)))
        elif name == "sliced":
            assert apart
            assert places == sorted(places)
        elif name in ("transposed", "channels_last"):
            assert apart
            assert places != sorted(places)
        else:
            assert not apart


def test_that_layouts_have_the_names_people_use():
    assert layout((), ()) == "scalar"
    assert layout((2, 3), (3, 1)) == "contiguous"
    assert layout((3, 2), (1, 3)) == "transposed"
    assert layout((2, 3), (6, 2)) == "sliced"
    assert layout((4, 3), (0, 1)) == "expanded"
    assert layout((4, 3), (1, 1)) == "overlapping"
    assert layout((2, 3, 4, 5), (60, 1, 15, 3)) == "channels_last"
    assert layout((0, 3), (17, 5)) == "contiguous"
    assert LAYOUTS[CONTIGUOUS] == "contiguous"
    assert layouts(np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int64)).tolist() == []


@given(strideds(signed=True))
@settings(max_examples=200)
def test_that_coverage_equals_the_enumeration(tensor):
    found = enumerated(tensor)
    runs = runs_of(tensor)
    assert runs.exact
    assert distinct_elems(runs) == len(found)
    low, high = tensor.reach
    edges = np.arange(low - 3, high + 4, dtype=np.float64)
    once = [float(int(place) in found) for place in edges[:-1]]
    assert covered_between(runs, edges).tolist() == once
    if found:
        reads = [len(found.get(int(place), ())) / tensor.repeats() for place in edges[:-1]]
        np.testing.assert_allclose(reads_between(runs, edges), reads)


@given(strideds())
@settings(max_examples=200)
def test_that_coverage_in_few_runs_keeps_the_number_of_reads(tensor):
    runs = runs_of(tensor, max_runs=3)
    assert len(runs.starts) <= 3
    low, high = tensor.reach
    edges = np.linspace(low - 1, high + 1, 7)
    reads = reads_between(runs, edges)
    assert (reads >= -1e-9).all()
    if tensor.numel:
        np.testing.assert_allclose(reads.sum(), tensor.numel / tensor.repeats())
        assert runs.starts[0] >= low
        assert runs.starts[-1] + runs.length <= high


def test_that_a_huge_tensor_costs_no_more_than_its_runs():
    half = Strided((1 << 20, 1 << 10), (1 << 11, 2))
    runs = runs_of(half)
    assert len(runs.starts) <= 1 << 16
    edges = np.linspace(0, 1 << 31, 101)
    np.testing.assert_allclose(covered_between(runs, edges) / np.diff(edges), 0.5, rtol=0.01)
    assert elements_at(half, 2 * 77).tolist() == [[0, 77]]
