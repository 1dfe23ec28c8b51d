import sys
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorscope.compute.cancelling import CancelledError
from tensorscope.compute.graph_condense import CLUSTER, OP
from tensorscope.compute.graph_layout import SIDE_GAP_PX, Shapes, place
from tensorscope.compute.graph_outline import FOLD, forward_order
from tensorscope.core.errors import DataError
from tensorscope.models.graph_data import GraphData
from tensorscope.models.graph_expansion import expanded_to, first_picture, one_level_more
from tensorscope.models.graph_model import GraphModel, TextSizes, picture_of
from tensorscope.models.session_model import SessionModel
from tests.support.graphs import graph_frames, stored_graph, synthetic_graph
from tests.support.sessions import fed

STORED = ("mlp", "gpt12", "resnet152", "lstm500", "gpt48")


def data_of(frames) -> GraphData:
    snapshot = GraphModel().resolve(fed(SessionModel(), frames).store, 0)
    assert snapshot.data is not None, snapshot.problem
    return snapshot.data


@st.composite
def graphs(draw):
    """Random graphs with modules called again, shared parameters and parts that nothing uses."""
    count = draw(st.integers(1, 24))
    paths = ["", "a", "a.0", "a.1", "a.1.x", "b"]
    nodes, edges = [], []
    for i in range(count):
        path = draw(st.sampled_from(paths))
        nodes.append(
            ("MulBackward0", 1000 - i, path, draw(st.integers(0, 1)), "", "[2]", draw(st.integers(0, 9)))
        )
        users = draw(st.lists(st.integers(0, i - 1), max_size=3)) if i else []
        edges += [(user, i) for user in users]
    for leaf in range(draw(st.integers(0, 3))):
        nodes.append(("AccumulateGrad", -1, "", 0, f"p{leaf}", "[2]", 0))
        edges += [(user, count + leaf) for user in draw(st.lists(st.integers(0, count - 1), max_size=3))]
    return graph_frames(nodes, edges)


def any_expansion(draw, data):
    outline = data.outline
    keys = [outline.key(group) for group in range(1, len(outline.kind))]
    return frozenset(draw(st.lists(st.sampled_from(keys))) if keys else [])


def check_rules(picture):
    """No two things overlap, things lie in their cluster, and every edge goes down."""
    shape, parent = picture.geometry, picture.shown.parent
    inside = defaultdict(list)
    for item in range(picture.count):
        inside[parent[item]].append(item)
        around = parent[item]
        if around >= 0:
            assert shape.x0[around] <= shape.x0[item] <= shape.x1[item] <= shape.x1[around]
            assert shape.y0[around] <= shape.y0[item] <= shape.y1[item] <= shape.y1[around]
    for items in inside.values():
        rows = defaultdict(list)
        for item in items:
            rows[round(shape.y0[item] + shape.y1[item], 3)].append(item)
        for row in rows.values():
            row.sort(key=lambda item: shape.x0[item])
            for left, right in pairwise(row):
                assert shape.x1[left] + SIDE_GAP_PX <= shape.x0[right] + 1e-6
        bands = sorted((min(shape.y0[r]), max(shape.y1[r])) for r in map(np.array, rows.values()))
        for above, below in pairwise(bands):
            assert above[1] < below[0]
    pieces = shape.pieces
    assert (pieces[:, 1] <= pieces[:, 3]).all()
    for producer, consumer in zip(shape.piece_from.tolist(), shape.piece_to.tolist(), strict=True):
        if producer >= 0 and consumer >= 0:
            assert shape.y1[producer] < shape.y0[consumer]


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_that_condensing_keeps_bytes_and_who_reaches_whom(draw_data):
    data = data_of(draw_data.draw(graphs()))
    picture = picture_of(data, any_expansion(draw_data.draw, data), TextSizes())
    leaves = [i for i in range(picture.count) if picture.shown.kind[i] != CLUSTER]
    assert sum(picture.saved_bytes[leaves]) == data.saved_bytes[~data.is_param].sum()
    for item in range(picture.count):
        start, stop = picture.span(item)
        assert picture.saved_bytes[item] == data.saved_bytes[data.outline.order[start:stop]].sum()
    spans = sorted(picture.span(i) for i in leaves)
    assert [place for span in spans for place in range(*span)] == list(range(len(data.outline.order)))
    wanted = set()
    for source, target in zip(data.edge_from.tolist(), data.edge_to.tolist(), strict=True):
        if not data.is_param[target]:
            ends = picture.item_of_node(target), picture.item_of_node(source)
            wanted |= {ends} if ends[0] != ends[1] else set()
    assert set(picture.innermost_edges()) == wanted
    check_rules(picture)


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_that_a_drawn_edge_joins_its_producer_and_its_consumer(draw_data):
    data = data_of(draw_data.draw(graphs()))
    picture = picture_of(data, any_expansion(draw_data.draw, data), TextSizes())
    shape = picture.geometry
    follow = defaultdict(set)
    for x0, y0, x1, y1 in np.round(shape.pieces, 4).tolist():
        follow[x0, y0].add((x1, y1))
    for producer, consumer in picture.innermost_edges():
        begin = {(round(float(shape.wire[producer]), 4), round(float(shape.y1[producer]), 4))}
        seen, stack = set(begin), list(begin)
        while stack:
            for point in follow[stack.pop()] - seen:
                seen.add(point)
                stack.append(point)
        assert (round(float(shape.wire[consumer]), 4), round(float(shape.y0[consumer]), 4)) in seen


@given(st.data())
@settings(max_examples=15, deadline=None)
def test_that_equal_graphs_give_equal_pictures(draw_data):
    frames = draw_data.draw(graphs())
    one, two = (picture_of(data_of(frames), frozenset(), TextSizes()) for _ in range(2))
    assert (one.geometry.pieces == two.geometry.pieces).all()
    assert (one.geometry.x0 == two.geometry.x0).all()


@pytest.mark.parametrize("name", STORED)
def test_that_real_graphs_are_readable_at_first_and_keep_the_rules_when_expanded(name):
    data = data_of(stored_graph(name))
    first = first_picture(data, TextSizes(), (1500.0, 1200.0))
    left, top, right, bottom = first.bounds()
    assert 3 <= first.count <= 150
    assert right - left <= 1500
    assert bottom - top <= 1200
    check_rules(first)
    more = picture_of(data, one_level_more(picture_of(data, one_level_more(first), TextSizes())), TextSizes())
    assert more.count > first.count
    check_rules(more)


def test_that_equal_blocks_fold_into_one_box_and_others_do_not():
    data = data_of(stored_graph("gpt12"))
    picture = picture_of(data, frozenset(), TextSizes())
    assert "h.0 … 11  × 12" in picture.titles
    outline = data.outline
    fold = next(g for g in range(len(outline.kind)) if outline.kind[g] == FOLD and outline.count[g] == 12)
    sizes = {outline.size(member) for member in outline.members[fold]}
    assert len(outline.members[fold]) == 12
    assert len(sizes) == 1


def test_that_calls_of_one_module_apart_from_each_other_stay_apart():
    nodes = [("MulBackward0", 9 - i, path, 0, "", "[]", 1) for i, path in enumerate("aba")]
    data = data_of(graph_frames(nodes, [(0, 1), (1, 2)]))
    picture = picture_of(data, frozenset(), TextSizes())
    assert picture.titles == ["a", "b", "a"]
    nodes = [("MulBackward0", 9 - i, "a", i, "", "[]", 1) for i in range(2)]
    assert picture_of(data_of(graph_frames(nodes, [(0, 1)])), frozenset(), TextSizes()).titles == ["a", "a"]


def test_that_an_order_is_found_where_sequence_numbers_lie_and_even_with_a_cycle():
    none = np.zeros(4, bool)
    seq = np.array([1, 2, 3, 4])
    edges = np.array([0, 1, 0]), np.array([1, 2, 3])
    order = forward_order(none, seq, *edges).tolist()
    assert order.index(0) < order.index(1) < order.index(2)
    assert order.index(0) < order.index(3)
    cycle = forward_order(none, seq, np.array([0, 1, 2]), np.array([1, 2, 0]))
    assert sorted(cycle.tolist()) == [0, 1, 2, 3]


def test_that_a_cycle_in_a_record_is_drawn_without_its_back_edge():
    nodes = [("MulBackward0", 5, "", 0, "", "[]", 1)] * 3
    picture = picture_of(data_of(graph_frames(nodes, [(0, 1), (1, 2), (2, 0)])), frozenset(), TextSizes())
    assert picture.count == 3
    check_rules(picture)


@pytest.mark.parametrize("modules", [True, False])
def test_that_a_hundred_thousand_nodes_are_shown_collapsed_first(modules):
    data = data_of(synthetic_graph(100_000, modules))
    picture = first_picture(data, TextSizes(), (1500.0, 1200.0))
    assert picture.count <= 150
    assert picture.saved_bytes[np.array(picture.shown.parent) < 0].sum() == data.saved_bytes.sum()
    deep = picture_of(data, expanded_to(data, frozenset(), 54_321), TextSizes())
    assert deep.shown.kind[deep.item_of_node(54_321)] == OP
    assert deep.count < 1_000


def test_that_the_cost_grows_with_nodes_and_depth_needs_no_recursion():
    visits = []
    for count in (1_000, 10_000, 100_000):
        edges = [(i, i + 1) for i in range(count - 1)] + [(i, i + 30) for i in range(0, count - 30, 30)]
        shapes = Shapes([5.0] * count, [5.0] * count, [9.0] * count)
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(200 + 50)
        try:
            visits.append(place(shapes, edges, [(0.0, 0.0)] * len(edges), 0, 0).visits)
        finally:
            sys.setrecursionlimit(limit)
    assert visits[1] < 11 * visits[0]
    assert visits[2] < 11 * visits[1]


def test_that_a_layout_can_be_given_up():
    shapes = Shapes([1.0] * 9, [1.0] * 9, [1.0] * 9)
    with pytest.raises(CancelledError):
        place(shapes, [(0, 1)], [(0.0, 0.0)], 0, 0, lambda: True)


def test_that_nothing_is_laid_out_as_nothing():
    data = data_of(graph_frames([], []))
    assert picture_of(data, frozenset(), TextSizes()).count == 0
    assert place(Shapes([], [], []), [], [], 0, 0).height == 0.0


def test_that_records_that_cannot_be_true_are_refused():
    session = fed(SessionModel(), graph_frames([("A", 1, "", 0, "", "", 0)] * 2, [(0, 1)]))
    record = session.store.records("graph")[0]
    for name, values, reason in (
        ("edge_to", np.array([7], np.int32), "points outside"),
        ("edge_to", np.array([-1], np.int32), "points outside"),
        ("node_shape", np.zeros(1, np.uint32), "different lengths"),
    ):
        with pytest.raises(DataError, match=reason):
            GraphData(replace(record, columns={**record.columns, name: values}), session.store.string)
