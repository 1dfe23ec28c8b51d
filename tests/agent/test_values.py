"""Values of a tensor: exactly the asked part, bounded, or the reason why not."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tensorscope.agent.capture.values import MAX_SIDE_ELEMS, read_values
from tests.agent.deep_harness import Harness


class Holder(nn.Module):
    def __init__(self, tensor) -> None:
        super().__init__()
        self.register_buffer("held", tensor)
        self.weight = nn.Parameter(torch.ones(2))


def read(held, **args):
    harness = Harness(Holder(held))
    frame = read_values(harness.context, {"tensor": "held", **args})
    column = frame.columns["data"]
    flat = memoryview(column.data).cast("B").cast("d").tolist() if column.data else []
    rows, columns = column.shape
    return frame.meta, [flat[row * columns : (row + 1) * columns] for row in range(rows)]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_that_the_asked_part_is_what_indexing_gives(data) -> None:
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=2, max_size=4))
    tensor = torch.arange(math.prod(sizes), dtype=torch.float32).reshape(sizes)
    tensor = tensor.permute(data.draw(st.permutations(range(len(sizes)))))
    axes = data.draw(st.permutations(range(len(sizes))))[:2]
    start = [data.draw(st.integers(0, tensor.shape[axis] - 1)) for axis in axes]
    shape = [data.draw(st.integers(1, 9)) for _ in axes]
    others = [axis for axis in range(len(sizes)) if axis not in axes]
    index = [data.draw(st.integers(0, tensor.shape[axis] - 1)) for axis in others]
    meta, rows = read(tensor, axes=axes, start=start, shape=shape, index=index)
    assert meta["ok"], meta["error"]
    expected = []
    for r in range(start[0], min(start[0] + shape[0], tensor.shape[axes[0]])):
        row = []
        for c in range(start[1], min(start[1] + shape[1], tensor.shape[axes[1]])):
            at = dict(zip(others, index, strict=True)) | {axes[0]: r, axes[1]: c}
            row.append(float(tensor[tuple(at[axis] for axis in range(tensor.dim()))]))
        expected.append(row)
    assert rows == expected
    assert meta["start"] == start
    assert meta["shape"] == list(tensor.shape)


def test_that_scalars_vectors_and_empty_tensors_have_a_form() -> None:
    assert read(torch.tensor(3.5))[1] == [[3.5]]
    meta, rows = read(torch.tensor([1, 2, 3]), start=[0, 1])
    assert (rows, meta["dtype"], meta["axes"], meta["complete"]) == ([[2.0, 3.0]], "int64", [0], False)
    assert read(torch.zeros(0, 4))[0]["ok"]


def test_that_other_dtypes_become_numbers() -> None:
    assert read(torch.tensor([True, False]))[1] == [[1.0, 0.0]]
    assert read(torch.tensor([3 + 4j]))[1] == [[5.0]]
    assert read(torch.tensor([1.5], dtype=torch.bfloat16))[1] == [[1.5]]
    assert read(torch.tensor([0.5]).to(torch.float8_e4m3fn))[1] == [[0.5]]
    assert all(map(math.isnan, read(torch.tensor([math.nan]))[1][0]))


def test_that_the_part_is_bounded_whatever_is_asked() -> None:
    meta, rows = read(torch.zeros(400, 300), shape=[10**9, 10**9], start=[-5, 10**9])
    assert (len(rows), meta["start"]) == (MAX_SIDE_ELEMS, [0, 300])
    assert rows[0] == []
    meta, rows = read(torch.zeros(400, 300))
    assert (len(rows), len(rows[0]), meta["complete"]) == (MAX_SIDE_ELEMS, MAX_SIDE_ELEMS, False)


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({"tensor": "blocks.0"}, "no longer exist"),
        ({"tensor": "weight.grad"}, "gradients are freed"),
        ({"axes": [0, 0]}, "different axes"),
        ({"axes": [0, 7]}, "axes"),
        ({"axes": "rows"}, "axes"),
        ({"start": ["a", 0]}, "whole numbers"),
        ({"shape": [1]}, "whole numbers"),
        ({"axes": [0], "index": [9]}, "outside axis"),
        ({"axes": [0], "index": []}, "index needs"),
    ],
)
def test_that_what_cannot_be_shown_says_why(args: dict, why: str) -> None:
    meta, rows = read(torch.zeros(2, 3), **args)
    assert not meta["ok"]
    assert why in meta["error"]
    assert rows == []


def test_that_tensors_without_values_say_so() -> None:
    assert "meta device" in read(torch.empty(2, 2, device="meta"))[0]["error"]
    assert "sparse" in read(torch.eye(3).to_sparse())[0]["error"]


def test_that_reading_makes_no_graph_and_moves_no_random_number() -> None:
    model = nn.Linear(3, 2)
    harness = Harness(model)
    state, version = torch.get_rng_state(), model.weight._version
    frame = read_values(harness.context, {"tensor": "weight", "id": 5})
    assert frame.meta["ok"]
    assert frame.meta["id"] == 5
    assert torch.equal(torch.get_rng_state(), state)
    assert model.weight._version == version
