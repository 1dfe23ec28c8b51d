"""Replay, ways and fills in the graph view."""

from __future__ import annotations

import json

import numpy as np
from PySide6.QtWidgets import QComboBox, QLabel, QSlider, QToolButton

from tensorscope.models.graph_colours import BY_OP
from tensorscope.views.graph.graph_view import GraphView
from tests.unit.models.test_graph_ways import T0, timed_session


def shown(qtbot) -> GraphView:
    view = GraphView()
    qtbot.addWidget(view)
    view.resize(1000, 700)
    view.show()
    view.set_session(timed_session())
    qtbot.waitUntil(view.is_idle, timeout=20_000)
    view._on_more()
    qtbot.waitUntil(view.is_idle, timeout=20_000)
    return view


def test_that_the_scrubber_moves_the_moment_of_all_views_and_follows_it(qtbot):
    view = shown(qtbot)
    session, slider = view._session, view.findChild(QSlider, "backwardScrubber")
    view.findChild(QToolButton, "replayBackward").click()
    assert slider.isVisible()
    assert slider.maximum() == 3
    slider.setValue(2)
    assert session.moment_ns == T0 + 110 - session.store.origin_ns
    assert "2 / 3" in view.findChild(QLabel, "backwardText").text()
    assert len(view.canvas.marks.matches) == 1
    session.go_to_moment(T0 + 5 - session.store.origin_ns)
    assert slider.value() == 1
    session.go_to_moment(T0 + 10**6)  # not in this backward
    assert slider.value() == 1
    view._player.close_player()
    assert view.canvas.marks.lit is None


def test_that_playing_ends_with_the_last_node(qtbot, monkeypatch):
    from tensorscope.views.graph import backward_player

    monkeypatch.setattr(backward_player, "PLAY_SECONDS", 0.2)
    view = shown(qtbot)
    view.findChild(QToolButton, "replayBackward").click()
    view.findChild(QToolButton, "playBackward").click()
    slider = view.findChild(QSlider, "backwardScrubber")
    qtbot.waitUntil(lambda: slider.value() == 3 and not view._player._timer.isActive(), timeout=10_000)


def test_that_a_way_lights_what_is_on_it_and_escape_ends_it(qtbot):
    view = shown(qtbot)
    last = view.canvas.picture.item_of_node(2)
    view._on_item_clicked(last)
    view._on_path_to_loss()
    assert view.canvas.marks.lit is not None
    assert view.canvas.marks.path[view.canvas.picture.item_of_node(0)]
    view._on_item_clicked(view.canvas.picture.item_of_node(0))
    view._on_path_to_loss()
    lit = set(np.flatnonzero(view.canvas.marks.path).tolist())
    assert last not in lit
    view._lights.clear_path()
    assert view.canvas.marks.path is None


def test_that_the_legend_says_what_the_fills_stand_for(qtbot):
    view = shown(qtbot)
    box, legend = view.findChild(QComboBox, "graphColour"), view.findChild(QLabel, "graphLegend")
    assert "64 B" in legend.text()
    box.setCurrentIndex(box.findData(BY_OP))
    assert "elementwise" in legend.text()


def test_that_the_graph_is_written_whole_as_json_and_as_one_page(qtbot, tmp_path):
    view = shown(qtbot)
    view.export(tmp_path / "a.json", "json")
    found = json.loads((tmp_path / "a.json").read_text())
    data = view.canvas.picture.data
    assert found["node_count"] == len(found["nodes"]) == data.count
    assert found["edges"] == np.stack([data.edge_from, data.edge_to], axis=1).tolist()
    assert [node["backward_ns"] for node in found["nodes"]] == [100, 100, 100]
    view.export(tmp_path / "a.pdf", "pdf")
    written = (tmp_path / "a.pdf").read_bytes()
    assert written.startswith(b"%PDF")
    assert written.count(b"/Type /Page\n") + written.count(b"/Type /Page ") == 1
