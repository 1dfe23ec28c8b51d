import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorscope.compute.pyramid import Pyramid


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(-50, 50), max_size=40), max_size=12), st.data())
def test_that_the_extremes_of_every_window_are_those_of_the_data(chunks, data):
    pyramid = Pyramid(np.int64)
    for chunk in chunks:
        pyramid.append(np.array(chunk, np.int64))
    values = np.array([value for chunk in chunks for value in chunk], np.int64)
    n = len(values)
    pairs = data.draw(st.lists(st.tuples(st.integers(0, n), st.integers(0, n)), max_size=20))
    start = np.array([a for a, _ in pairs], np.int64)
    stop = np.array([b for _, b in pairs], np.int64)
    lowest, highest = pyramid.extremes(start, stop)
    for (a, b), low, high in zip(pairs, lowest, highest, strict=True):
        if a >= b:
            assert low == high == -1
        else:
            assert a <= low < b
            assert a <= high < b
            assert values[low] == values[a:b].min()
            assert values[high] == values[a:b].max()


def test_that_an_append_reads_its_own_rows_and_not_those_before():
    pyramid = Pyramid(np.int64)
    pyramid.append(np.arange(2_000_000))
    before = pyramid.rows_touched
    pyramid.append(np.arange(1000))
    assert pyramid.rows_touched - before < 1000 + 2 * 4 * 1000


def test_that_a_window_costs_pixels_and_not_rows():
    pyramid = Pyramid(np.float64)
    pyramid.append(np.random.default_rng(0).normal(size=2_000_000))
    edges = np.linspace(0, 2_000_000, 1201).astype(np.int64)
    before = pyramid.rows_touched
    lowest, highest = pyramid.extremes(edges[:-1], edges[1:])
    assert pyramid.rows_touched - before < 1200 * 2 * 2 * 3 * 12
    assert pyramid.values[highest].max() == pyramid.values.max()
    assert pyramid.values[lowest].min() == pyramid.values.min()
