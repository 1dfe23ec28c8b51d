import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tensorscope.compute.stacking import stacked_rects

HEIGHTS = st.lists(st.lists(st.sampled_from([0, 0, 5, 7, 1 << 40]), min_size=4, max_size=4), max_size=20)


@given(HEIGHTS, st.sampled_from([1.0, 0.8]))
def test_that_the_classes_of_a_bar_lie_on_each_other_and_reach_its_sum(heights, width):
    heights = np.array(heights, np.int64).reshape(-1, 4)
    x = np.arange(len(heights), dtype=float)
    rects = stacked_rects(x, x + width, heights)
    for bar, parts in enumerate(heights):
        level = 0
        for class_id, size in enumerate(parts):
            middle = bar + width / 2
            inside = (rects.x0 <= middle) & (middle < rects.x1) & (rects.class_ids == class_id)
            spans = [(rects.y0[at], rects.y1[at]) for at in np.flatnonzero(inside)]
            assert spans == ([(level, level + size)] if size else [])
            level += size
    covered = (rects.x1 - rects.x0).sum()
    assert covered <= (heights > 0).sum() + 1e-9


def test_that_a_level_that_lasts_is_one_rectangle_and_a_hole_parts_it():
    x = np.array([0.0, 1.0, 2.0, 4.0])
    rects = stacked_rects(x, x + 1, np.array([[5, 1], [5, 2], [5, 2], [5, 2]]))
    base = rects.class_ids == 0
    assert list(zip(rects.x0[base], rects.x1[base], strict=True)) == [(0, 3), (4, 5)]
    assert (~base).sum() == 3
