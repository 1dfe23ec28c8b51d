"""Which groups are open: by name, by depth, all and none."""

from __future__ import annotations

import pytest

from tensorscope.core.errors import DataError
from tensorscope.models.graph_expansion import expanded_by
from tensorscope.models.graph_model import TextSizes, picture_of
from tests.support.graphs import synthetic_graph
from tests.unit.models.test_graph_ways import data_of


def boxes(what: str) -> int:
    data = data_of(synthetic_graph(600))
    return picture_of(data, expanded_by(data, what), TextSizes()).count


def test_that_all_shows_every_operation_and_none_the_fewest_boxes() -> None:
    data = data_of(synthetic_graph(600))
    picture = picture_of(data, expanded_by(data, "all"), TextSizes())
    shown = [picture.node(item) for item in range(picture.count) if picture.node(item) >= 0]
    assert sorted(shown) == sorted(data.outline.order.tolist())
    assert boxes("none") <= boxes("depth:1") <= boxes("depth:2") <= boxes("all")


def test_that_a_module_is_opened_with_all_inside_and_nothing_beside_it() -> None:
    data = data_of(synthetic_graph(600))
    picture = picture_of(data, expanded_by(data, "stage.0.block.3"), TextSizes())
    shown = {picture.node(item) for item in range(picture.count)} - {-1}
    modules = data.texts("node_module")
    assert {n for n in data.outline.order.tolist() if modules[n] == "stage.0.block.3"} <= shown
    assert not any(modules[n] == "stage.0.block.4" for n in shown)


def test_that_a_module_that_is_not_there_is_named() -> None:
    with pytest.raises(DataError, match=r"no module .stage\.9."):
        expanded_by(data_of(synthetic_graph(200)), "stage.9")
