"""What a deep step says of backward itself: when nodes ran, what gradients passed, and what spoilt them."""

import math

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tensorscope.agent.capture.autograd import AutogradCapture
from tensorscope.agent.capture.ops import OpsCapture
from tensorscope.agent.capture.tensors import TensorsCapture
from tensorscope.core.schema import NODE_KINDS, NONFINITE
from tests.agent.deep_harness import Harness
from tests.agent.deep_models import MODELS, Run

ALL = (AutogradCapture, TensorsCapture, OpsCapture)


def harness_of(model: nn.Module | None = None, gradients: bool = False, kinds=(AutogradCapture,)) -> Harness:
    optimizer = None if model is None else torch.optim.SGD(model.parameters())
    harness = Harness(model, optimizer, kinds)
    harness.context.wants_gradients = gradients
    return harness


def by_name(graph: dict, name: str, column: str) -> list:
    return [value for one, value in zip(graph["node_name"], graph[column], strict=True) if one == name]


def test_that_nodes_ran_in_the_order_in_which_backward_needs_them() -> None:
    run = Run("gpt")
    harness = harness_of(run.model)
    inputs, targets = run.batch()
    harness.begin()
    nn.functional.cross_entropy(run.model(inputs).flatten(0, -2), targets).backward()
    harness.end()
    graph = harness.record("graph")
    (call,) = graph["meta"]["calls"]
    begin, spent = graph["node_begin_ns"], graph["node_backward_ns"]
    assert all(call["t0_ns"] < at and at + ns < call["t1_ns"] for at, ns in zip(begin, spent, strict=True))
    for consumer, producer in zip(graph["edge_from"], graph["edge_to"], strict=True):
        assert begin[consumer] + spent[consumer] <= begin[producer]
    assert set(graph["node_thread"]) == {0}


@pytest.mark.parametrize("kind", sorted(MODELS))
def test_that_norms_are_those_of_the_gradients_that_pass(kind: str) -> None:
    run = Run(kind)
    harness = harness_of(run.model, gradients=True)
    inputs, targets = run.batch()
    harness.begin()
    nn.functional.cross_entropy(run.model(inputs).flatten(0, -2), targets).backward()
    harness.end()
    graph = harness.record("graph")
    assert graph["meta"]["gradients"]
    named = dict(run.model.named_parameters())
    norms = {name: n for name, n in zip(graph["node_param"], graph["node_grad_norm"], strict=True) if name}
    assert norms == pytest.approx({name: float(named[name].grad.norm()) for name in norms})
    sent: dict[int, list[float]] = {}
    for node, norm in zip(graph["edge_to"], graph["edge_grad_norm"], strict=True):
        sent.setdefault(node, []).append(norm)
    for node, norms_sent in sent.items():
        if len(norms_sent) == 1:
            assert graph["node_grad_norm"][node] == pytest.approx(norms_sent[0], nan_ok=True)
    assert not any(graph["node_nonfinite"])
    assert not any(graph["edge_nonfinite"])


def test_that_the_first_node_with_a_gradient_that_is_not_finite_can_be_told() -> None:
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    harness = harness_of(gradients=True)
    harness.begin()
    (x.sqrt() * 2).sum().backward()  # the slope of sqrt at 0
    harness.end()
    graph = harness.record("graph")
    assert by_name(graph, "SqrtBackward0", "node_nonfinite") == [0]
    edge = graph["edge_from"].index(graph["node_name"].index("SqrtBackward0"))
    assert NONFINITE[graph["edge_nonfinite"][edge]] == "inf"
    assert math.isinf(graph["edge_grad_norm"][edge])


def test_that_an_overflow_of_the_norm_alone_is_no_gradient_that_is_not_finite() -> None:
    x = torch.full((4,), 1.0, requires_grad=True)
    harness = harness_of(gradients=True)
    harness.begin()
    (x * 1e30).sum().backward()
    harness.end()
    assert not any(harness.record("graph")["edge_nonfinite"])


@pytest.mark.parametrize("kind", sorted(MODELS))
def test_that_measuring_gradients_changes_no_bit(kind: str) -> None:
    plain = Run(kind)
    losses = [plain.step() for _ in range(2)]
    expected = plain.digest()
    watched = Run(kind)
    harness = Harness(watched.model, watched.optimizer, ALL)
    harness.context.wants_gradients = True
    for step in range(2):
        harness.begin(step)
        assert torch.equal(watched.step(), losses[step])
        harness.end(step)
    assert watched.digest() == expected


def test_that_unmeasured_gradients_have_no_columns() -> None:
    model = nn.Linear(3, 1)
    harness = harness_of(model)
    harness.begin()
    model(torch.randn(2, 3)).sum().backward()
    harness.end()
    graph = harness.record("graph")
    assert not graph["meta"]["gradients"]
    assert not {"node_grad_norm", "edge_grad_norm"} & set(graph)


def test_that_each_backward_is_told_with_what_was_asked_of_it() -> None:
    model = nn.Linear(3, 1)
    harness = harness_of(model)
    harness.begin()
    loss = model(torch.randn(2, 3)).square().sum()
    (slope,) = torch.autograd.grad(loss, [model.weight], create_graph=True)
    (loss + slope.square().sum()).backward()
    harness.end()
    graph = harness.record("graph")
    asked = [
        (call["accumulates"], call["create_graph"], call["retain_graph"]) for call in graph["meta"]["calls"]
    ]
    assert asked == [(False, True, True), (True, False, False)]
    assert set(graph["node_backward"]) == {0, 1}
    first = graph["node_name"].index("AddmmBackward0")
    assert graph["node_backward"][first] == 0


def test_that_kinds_of_nodes_are_told_apart() -> None:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    model = nn.Linear(3, 3)
    harness = harness_of(model)
    harness.begin()
    x = Twice.apply(model(torch.randn(2, 3)))
    x = checkpoint(torch.sin, x, use_reentrant=True)
    checkpoint(torch.exp, x, use_reentrant=False).sum().backward()
    harness.end()
    graph = harness.record("graph")
    kinds = {
        name: NODE_KINDS[kind] for name, kind in zip(graph["node_name"], graph["node_kind"], strict=True)
    }
    assert kinds["TwiceBackward"] == "custom"
    assert kinds["CheckpointFunctionBackward"] == kinds["ExpBackward0"] == "checkpoint"
    assert kinds["AccumulateGrad"] == "accumulate"
    assert kinds["AddmmBackward0"] == kinds["SumBackward0"] == "plain"


def test_that_hooks_on_parameters_are_counted() -> None:
    model = nn.Linear(3, 1)
    model.weight.register_hook(lambda gradient: None)
    model.weight.register_post_accumulate_grad_hook(lambda parameter: None)
    harness = harness_of(model)
    harness.begin()
    model(torch.randn(2, 3)).sum().backward()
    harness.end()
    graph = harness.record("graph")
    hooks = dict(zip(graph["node_param"], graph["node_hooks"], strict=True))
    assert (hooks["weight"], hooks["bias"]) == (2, 0)


def test_that_edges_say_which_input_and_output_they_join() -> None:
    x = torch.randn(4, requires_grad=True)
    harness = harness_of()
    harness.begin()
    low, high = (x * 2).chunk(2)
    (high - low).sum().backward()
    harness.end()
    graph = harness.record("graph")
    sub, split = (graph["node_name"].index(name) for name in ("SubBackward0", "SplitBackward0"))
    edges = zip(*(graph[f"edge_{name}"] for name in ("from", "to", "input", "output")), strict=True)
    assert {edge[2:] for edge in edges if edge[:2] == (sub, split)} == {(0, 1), (1, 0)}


def test_that_a_write_over_a_saved_tensor_is_told_with_both_lines_before_backward_fails() -> None:
    model = nn.Linear(3, 3)
    harness = harness_of(model, kinds=ALL)
    harness.begin()
    x = model(torch.randn(2, 3))
    y = x.exp()
    y += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    (notice,) = [frame.meta for frame in harness.frames if frame.kind == "notice"]
    assert notice["code"] == "inplace-write"
    code = test_that_a_write_over_a_saved_tensor_is_told_with_both_lines_before_backward_fails.__code__
    for line in (6, 7):
        assert f"test_backward_seen.py:{code.co_firstlineno + line - 1}" in notice["text"]
    graph = harness.record("graph")
    assert "inplace operation" in graph["meta"]["failed"]
    assert graph["write_op"] == ["aten.add_.Tensor"]
    exp = graph["node_name"].index("ExpBackward0")
    saved = zip(graph["saved_node"], graph["saved_storage"], strict=True)
    assert (exp, graph["write_storage"][0]) in saved
    assert graph["node_seq"][exp] < graph["write_seq"][0]
    harness.end()


@pytest.mark.parametrize("case", ["relu", "batch-norm", "dropout", "no-grad", "optimizer"])
def test_that_a_write_that_spoils_nothing_is_not_told(case: str) -> None:
    parts = [nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Conv2d(4, 2, 1)]
    model = nn.Sequential(*parts, nn.Dropout(0.5, inplace=True))
    optimizer = torch.optim.AdamW(model.parameters())
    harness = Harness(model, optimizer, ALL)
    x = torch.randn(2, 3, 5, 5)
    harness.begin()
    if case == "batch-norm":
        model(x)  # its statistics change again before backward
    loss = model(x).square().sum()
    if case == "no-grad":
        with torch.no_grad():
            torch.zeros(3).add_(1)
    loss.backward()
    if case == "optimizer":
        optimizer.step()
    harness.end()
    assert harness.notices() == []
    assert harness.record("graph")["meta"]["failed"] is None
