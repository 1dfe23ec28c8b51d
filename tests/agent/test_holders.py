"""Who holds a block: found by the names a person can look for, changing nothing."""

import gc
import sys
import weakref

import pytest
import torch
from torch import nn

from tensorscope.agent.capture import holders
from tensorscope.agent.capture.holders import MOST_ADDRESSES, find_holders
from tensorscope.core.errors import TensorScopeError
from tests.agent.deep_harness import Harness

KEPT = []


class Trainer:
    def __init__(self) -> None:
        self.history = {"loss": []}


class Slotted:
    __slots__ = ("tensor",)


TRAINER = Trainer()
SLOTTED = Slotted()


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """The bound in time is for training programs, not for a machine that runs two tests at once."""
    monkeypatch.setattr(holders, "BUDGET_NS", 60_000_000_000)
    yield
    KEPT.clear()
    TRAINER.history["loss"].clear()


def held_by(tensor_or_address, model=None, optimizer=None):
    """Return (kind, text) of who holds a tensor's block."""
    harness = Harness(model or nn.Linear(2, 2))
    if optimizer is not None:
        harness.context.program.add_optimizer(optimizer)
        harness.context.program.refresh()
    address = tensor_or_address
    if isinstance(address, torch.Tensor):
        address = address.untyped_storage().data_ptr()
    del tensor_or_address
    result = find_holders(harness.context, {"addresses": [address]})
    return [(holder["kind"], holder["text"]) for holder in result["blocks"][0]["holders"]]


def texts(found):
    return [text for _, text in found]


def test_that_a_list_of_losses_is_named_with_its_place():
    model = nn.Linear(2, 2)
    KEPT.extend(model(torch.ones(4, 2)).sum() for _ in range(3))
    address = KEPT[1].untyped_storage().data_ptr()
    assert any(text.startswith("KEPT[1] (global of ") for text in texts(held_by(address, model)))


def test_that_attributes_and_dictionaries_are_followed():
    TRAINER.history["loss"].append(torch.ones(9))
    address = TRAINER.history["loss"][0].untyped_storage().data_ptr()
    assert any(text.startswith("TRAINER.history['loss'][0] (global") for text in texts(held_by(address)))


def test_that_slots_are_followed():
    SLOTTED.tensor = torch.ones(5)
    address = SLOTTED.tensor.untyped_storage().data_ptr()
    found = texts(held_by(address))
    assert any("SLOTTED" in text for text in found)
    del SLOTTED.tensor


def test_that_local_variables_of_running_functions_are_named():
    predictions = torch.ones(3)
    found = held_by(predictions)
    assert any(kind == "frame_local" and "predictions of test_that_local" in text for kind, text in found)


def test_that_a_closure_is_named():
    def make():
        inner = torch.ones(6)
        return (lambda: inner), inner.untyped_storage().data_ptr()

    KEPT.append(make()[0])
    address = KEPT[0]().untyped_storage().data_ptr()
    assert any("in a closure" in text for text in texts(held_by(address)))


def test_that_parameters_gradients_state_and_buffers_have_their_names():
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(4, 3)).sum().backward()
    optimizer.step()
    weight = model[0].weight
    assert ("parameter", "parameter 0.weight") in held_by(weight, model, optimizer)
    assert ("grad", "gradient 0.weight.grad") in held_by(weight.grad, model, optimizer)
    state = optimizer.state[weight]["exp_avg"]
    assert ("optimizer_state", "optimizer state 0.weight.exp_avg") in held_by(state, model, optimizer)
    assert ("buffer", "buffer 1.running_mean") in held_by(model[1].running_mean, model, optimizer)


def test_that_the_node_that_saved_a_tensor_is_named_where_no_python_object_is_left():
    x = torch.ones(8, requires_grad=True)
    hidden = x * 2
    address = hidden.untyped_storage().data_ptr()
    KEPT.append(hidden.exp().log().sum())  # exp saves its result, log its input: no name leads to either
    result = hidden.exp()
    del hidden
    saved = [text for kind, text in held_by(result) if kind == "saved_tensor"]
    assert saved == ["saved for backward by ExpBackward0"]
    graph_only = KEPT[0].grad_fn.next_functions[0][0]._raw_saved_self.data.untyped_storage().data_ptr()
    assert any(kind == "saved_tensor" and "LogBackward0" in text for kind, text in held_by(graph_only))
    assert address  # only to keep the name used


def test_that_a_cycle_is_told_from_something_that_is_held():
    class Node:
        pass

    gc.collect()
    gc.disable()
    try:
        node = Node()
        node.me, node.tensor = node, torch.ones(11)
        address = node.tensor.untyped_storage().data_ptr()
        del node
        found = held_by(address)
        assert [kind for kind, _ in found] == ["cycle"]
    finally:
        gc.enable()
        gc.collect()


def test_that_what_was_freed_is_held_by_nobody():
    tensor = torch.ones(13)
    address = tensor.untyped_storage().data_ptr()
    del tensor
    assert [kind for kind, _ in held_by(address)] == ["none"]


def test_that_a_view_counts_as_a_tensor_in_the_block():
    base = torch.ones(4, 4)
    KEPT.append(base[1])
    harness = Harness(nn.Linear(2, 2))
    address = base.untyped_storage().data_ptr()
    block = find_holders(harness.context, {"addresses": [address]})["blocks"][0]
    assert block["size_bytes"] == 64
    assert sorted(tensor["shape"] for tensor in block["tensors"]) == [[4], [4, 4]]


def test_that_looking_keeps_nothing_alive_and_counts_as_before():
    KEPT.append(torch.ones(17))
    ref, counts = weakref.ref(KEPT[0]), sys.getrefcount(KEPT[0])
    model = nn.Linear(2, 2)
    before = torch.get_rng_state()
    held_by(KEPT[0].untyped_storage().data_ptr(), model)
    after = sys.getrefcount(KEPT[0])  # not within assert, which keeps what it looks at
    assert after == counts
    assert torch.equal(torch.get_rng_state(), before)
    KEPT.clear()
    assert ref() is None


def test_that_locals_of_functions_die_when_they_are_let_go():
    """Reading a frame's variables makes a copy of them: it must not outlive the look."""

    def function():
        local = torch.ones(19)
        ref = weakref.ref(local)
        held_by(local.untyped_storage().data_ptr())
        del local
        return ref()

    assert function() is None


def test_that_many_addresses_are_cut_and_said():
    harness = Harness(nn.Linear(2, 2))
    result = find_holders(harness.context, {"addresses": list(range(1, MOST_ADDRESSES + 9))})
    assert result["truncated"]
    assert len(result["blocks"]) == MOST_ADDRESSES


@pytest.mark.parametrize("addresses", [None, 3, ["a"], [1.5], [True]])
def test_that_what_is_no_list_of_addresses_is_refused(addresses):
    with pytest.raises(TensorScopeError, match="whole numbers"):
        find_holders(Harness(nn.Linear(2, 2)).context, {"addresses": addresses})


def test_that_the_time_is_bounded_and_said(monkeypatch):
    monkeypatch.setattr(holders, "BUDGET_NS", 0)
    tensor = torch.ones(3)
    harness = Harness(nn.Linear(2, 2))
    result = find_holders(harness.context, {"addresses": [tensor.untyped_storage().data_ptr()]})
    assert result["truncated"]
    assert len(result["blocks"][0]["holders"]) == 1
