"""Finding nodes, ways to the loss, fills and the replay of backward, on graphs against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorscope.core.wire import Frame
from tensorscope.models.backward_replay import backward_replay
from tensorscope.models.graph_colours import (
    BY_BYTES,
    BY_GRADIENT,
    BY_MODULE,
    BY_OP,
    BY_TIME,
    PLAIN,
    SHADES,
    fills_of,
)
from tensorscope.models.graph_data import GraphData
from tensorscope.models.graph_expansion import first_picture, one_level_more
from tensorscope.models.graph_filter import matching
from tensorscope.models.graph_model import GraphModel, TextSizes, picture_of
from tensorscope.models.graph_paths import items_holding, reached
from tensorscope.models.session_model import SessionModel
from tests.support.graphs import synthetic_graph
from tests.support.sample_frames import column
from tests.support.sessions import fed

T0 = 1_000


def data_of(frames: list[Frame]) -> GraphData:
    data = GraphModel().resolve(fed(SessionModel(), frames).store, 0).data
    assert data is not None
    return data


@given(st.integers(20, 300), st.data())
@settings(max_examples=25, deadline=None)
def test_that_a_way_holds_every_node_that_leads_on_and_no_other(count: int, draw: st.DataObject) -> None:
    data = data_of(synthetic_graph(count))
    start = draw.draw(st.integers(0, data.count - 1))
    towards_loss = draw.draw(st.booleans())
    found, waiting = {start}, [start]
    near, far = (data.edge_to, data.edge_from) if towards_loss else (data.edge_from, data.edge_to)
    while waiting:
        node = waiting.pop()
        following = set(far[near == node].tolist()) - found
        found |= following
        waiting += following
    mask = reached(data, np.array([start]), towards_loss)
    assert set(np.flatnonzero(mask).tolist()) == found
    picture = first_picture(data, TextSizes(), (800.0, 800.0))
    items = items_holding(picture, mask)
    for item in range(picture.count):
        begin, end = picture.span(item)
        assert items[item] == any(int(node) in found for node in data.outline.order[begin:end])


def test_that_terms_are_joined_and_compared() -> None:
    data = data_of(synthetic_graph(400))
    everything = set(range(data.count))
    names, modules = data.texts("node_name"), data.texts("node_module")
    muls = {node for node in everything if "mul" in names[node].casefold()}
    assert set(matching(data, "op:mul").tolist()) == muls
    inside = {node for node in everything if "block.2" in modules[node]}
    assert set(matching(data, "module:block.2").tolist()) == inside
    saved = {node for node in everything if data.saved_bytes[node] >= 64}
    assert set(matching(data, "bytes>=64").tolist()) == saved
    assert set(matching(data, "bytes>0.05KiB module:block.2").tolist()) == saved & inside
    assert matching(data, "bytes>1MiB").tolist() == []
    assert matching(data, "time>0").tolist() == []  # not timed
    assert matching(data, "norm>1").tolist() == []  # not measured: looked for as a word
    assert matching(data, "no-such-word").tolist() == []
    assert set(matching(data, "").tolist()) == everything


@pytest.mark.parametrize("colour_by", [PLAIN, BY_BYTES, BY_TIME, BY_GRADIENT, BY_MODULE, BY_OP])
def test_that_every_item_has_a_fill_that_there_is(colour_by: int) -> None:
    data = data_of(synthetic_graph(300))
    picture = picture_of(data, one_level_more(first_picture(data, TextSizes(), (800.0, 800.0))), TextSizes())
    fills = fills_of(picture, colour_by)
    assert len(fills.index) == picture.count
    assert fills.index.min() >= 0
    assert fills.index.max() <= (len(fills.names) if fills.names else SHADES - 1)


def test_that_a_graph_that_was_not_timed_has_no_replay() -> None:
    frames = synthetic_graph(50)
    assert backward_replay(data_of(frames), fed(SessionModel(), frames).store) is None


def timed_session() -> SessionModel:
    """Three nodes that run from the loss on, 100 ns each with 10 ns between, and what they free."""
    words, graph = synthetic_graph(3)
    columns = dict(graph.columns)
    columns["node_begin_ns"] = column("i8", [T0, T0 + 110, T0 + 220])
    columns["node_backward_ns"] = column("i8", [100, 100, 100])
    events = [  # t_ns, address, delta: one from before freed by each, one made and freed within
        (T0 - 50, 1, 64), (T0 - 40, 2, 128), (T0 + 10, 3, 256), (T0 + 20, 3, -256), (T0 + 105, 1, -64),
        (T0 + 115, 4, 512), (T0 + 230, 2, -128), (T0 + 240, 4, -512), (T0 + 900, 9, 8),
    ]  # fmt: skip
    zeros = [0] * len(events)
    totals = np.cumsum([event[2] for event in events]).tolist()
    alloc = {
        "t_ns": column("i8", [event[0] for event in events]),
        "address": column("u8", [event[1] for event in events]),
        "delta_bytes": column("i8", [event[2] for event in events]), "total_bytes": column("i8", totals),
        "step": column("i4", zeros), "phase": column("u1", zeros), "category": column("u1", zeros),
        "device": column("i2", [-1] * len(events)), "module": column("u4", zeros),
    }  # fmt: skip
    frames = [words, Frame("graph", 0, meta=graph.meta, columns=columns), Frame("alloc", 0, columns=alloc)]
    return fed(SessionModel(), frames)


def test_that_a_replay_frees_what_was_there_before_each_node() -> None:
    session = timed_session()
    data = GraphModel().resolve(session.store, 0).data
    assert data is not None
    replay = backward_replay(data, session.store)
    assert replay is not None
    assert replay.node.tolist() == [0, 1, 2]
    assert replay.freed_bytes.tolist() == [64, 0, 128 + 512]
    assert [replay.at(t) for t in (T0 - 1, T0, T0 + 109, T0 + 110, T0 + 999)] == [0, 1, 1, 2, 3]


def test_that_a_replay_fades_what_has_run_and_marks_what_runs() -> None:
    session = timed_session()
    data = GraphModel().resolve(session.store, 0).data
    assert data is not None
    replay = backward_replay(data, session.store)
    assert replay is not None
    picture = picture_of(
        data, frozenset(data.outline.key(g) for g in range(len(data.outline.kind))), TextSizes()
    )
    for begun in range(4):
        lit, now = replay.states(picture, begun)
        left = {int(node) for node in replay.node[max(0, begun - 1) :]}
        for item in range(picture.count):
            begin, end = picture.span(item)
            assert lit[item] == any(int(node) in left for node in data.outline.order[begin:end])
        assert now.tolist() == ([picture.item_of_node(begun - 1)] if begun else [])
