import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tensorscope.compute.stacking import stacked_rects


@given(st.lists(st.lists(st.integers(0, 1 << 40), min_size=4, max_size=4), max_size=20))
def test_that_the_classes_of_a_bar_lie_on_each_other_and_reach_its_sum(heights):
    heights = np.array(heights, np.int64).reshape(-1, 4)
    x = np.arange(len(heights), dtype=float)
    rects = stacked_rects(x, x + 1, heights)
    for bar, parts in enumerate(heights):
        mine = rects.x0 == bar
        level = 0
        for class_id, size in enumerate(parts):
            found = np.flatnonzero(mine & (rects.class_ids == class_id))
            assert len(found) == (size > 0)
            for at in found:
                assert (rects.y0[at], rects.y1[at]) == (level, level + size)
            level += size
        assert rects.y1[mine].max(initial=0) == parts.sum()
