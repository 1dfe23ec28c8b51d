"""Texts near points of a chart: inside, and none on top of another as long as there is room."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from tensorscope.views.items.note_places import place_note


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(30, 70)), min_size=1, max_size=3))
def test_that_a_few_notes_lie_inside_and_apart(points):
    taken = []
    for x, y in points:
        taken.append(place_note(x, y, 12.0, 5.0, (0.0, 100.0), 100.0, taken))
    for x0, x1, y0, y1 in taken:
        assert x0 + 1e-9 >= 0
        assert x1 <= 100 + 1e-9
        assert 0 <= y0 < y1 <= 100
    for one, other in combinations(taken, 2):
        assert one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
