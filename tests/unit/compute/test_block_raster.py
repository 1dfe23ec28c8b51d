"""The raster of many rectangles, against painting them one by one."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorscope.compute.block_raster import NOTHING, raster

WIDTH, HEIGHT = 24, 16
NUMBER = st.floats(-4, 30, allow_nan=False).map(lambda x: round(x, 3))
RECT = st.tuples(NUMBER, st.floats(0.001, 12), NUMBER, st.floats(0.001, 12), st.integers(0, 2))


def arrays(rects):
    x, w, y, h, kind = (np.array(c, float) for c in (zip(*rects, strict=True) if rects else [[]] * 5))
    return x, x + w, y, y + h, kind.astype(np.uint8)


def brute_force(x0, x1, y0, y1, kind):
    """Return the coverage of each class in each pixel."""
    found = np.zeros((3, HEIGHT, WIDTH))
    for a, b, c, d, one in zip(x0, x1, y0, y1, kind, strict=True):
        if b < 0 or a >= WIDTH or d < 0 or c >= HEIGHT:
            continue
        share = min(max(b - a, 1e-3), 1) * min(max(d - c, 1e-3), 1)
        left, low = min(max(math.floor(a), 0), WIDTH - 1), min(max(math.floor(c), 0), HEIGHT - 1)
        right, high = max(left + 1, min(math.ceil(b), WIDTH)), max(low + 1, min(math.ceil(d), HEIGHT))
        found[one, low:high, left:right] += share
    return found


@settings(max_examples=200)
@given(st.lists(RECT, max_size=12))
def test_that_the_picture_is_that_of_painting_one_by_one(rects):
    columns = arrays(rects)
    picture = raster(*columns, 3, (0, WIDTH, 0, HEIGHT), (WIDTH, HEIGHT))
    expected = brute_force(*columns)
    total = expected.sum(axis=0)
    assert ((picture.class_id != NOTHING) == (total > 0)).all()
    assert np.allclose(picture.coverage, np.minimum(total, 1), atol=1e-4)
    touched = total > 0
    best = np.take_along_axis(expected, np.where(touched, picture.class_id, 0)[None].astype(int), axis=0)[0]
    assert np.allclose(best[touched], expected.max(axis=0)[touched], atol=1e-4)


@given(st.lists(RECT, max_size=12), st.floats(0.1, 5), st.floats(-50, 50))
def test_that_a_window_only_moves_and_scales(rects, scale, shift):
    x0, x1, y0, y1, kind = arrays(rects)
    plain = raster(x0, x1, y0, y1, kind, 3, (0, WIDTH, 0, HEIGHT), (WIDTH, HEIGHT))
    moved = raster(
        x0 * scale + shift, x1 * scale + shift, y0, y1, kind, 3,
        (shift, WIDTH * scale + shift, 0, HEIGHT), (WIDTH, HEIGHT),
    )  # fmt: skip
    assert (plain.class_id == moved.class_id).mean() > 0.97  # but for rounding at pixel edges


def test_that_nothing_is_too_small_to_be_seen():
    tiny = np.array([5.5])
    picture = raster(
        tiny, tiny + 1e-9, tiny, tiny + 1e-9, np.zeros(1, np.uint8), 1, (0, WIDTH, 0, HEIGHT), (WIDTH, HEIGHT)
    )
    assert picture.class_id[5, 5] == 0
    assert (picture.class_id != NOTHING).sum() == 1
    assert 0 < picture.coverage[5, 5] < 0.01


def test_that_the_cost_of_a_rectangle_does_not_depend_on_its_size():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, WIDTH, 2000), rng.uniform(0, HEIGHT, 2000)
    picture = raster(x, x + 20, y, y + 9, np.zeros(2000, np.uint8), 1, (0, WIDTH, 0, HEIGHT), (WIDTH, HEIGHT))
    assert picture.coverage[HEIGHT - 1, WIDTH - 1] == 1.0
