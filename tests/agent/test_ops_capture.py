"""The operators of a deep step: all of them, in order, with module and source line."""

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from tensorscope.agent.capture import ops as ops_module
from tensorscope.agent.capture.autograd import AutogradCapture
from tensorscope.agent.capture.ops import OpsCapture
from tests.agent.deep_harness import Harness

KINDS = (AutogradCapture, OpsCapture)


class Mine(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def work(model: nn.Module, x: torch.Tensor) -> None:
    model(x).sum().backward()


def test_that_operators_are_those_that_run_in_their_order() -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
    x = torch.randn(5, 4)
    with Mine() as mode:
        work(model, x)
    model.zero_grad()
    harness = Harness(model, torch.optim.SGD(model.parameters()), KINDS)
    harness.begin()
    work(model, x)
    harness.end()
    ops = harness.record("ops")
    # The graph is read within the step: its reading shows up nowhere.
    assert ops["op"] == mode.seen
    assert ops["t_ns"] == sorted(ops["t_ns"])
    assert ops["meta"]["complete"]
    addmm, backward = ops["op"].index("aten.addmm.default"), ops["op"].index("aten.tanh_backward.default")
    assert ops["module"][addmm] == "0"
    assert ops["module"][backward] == "1"
    assert ops["out_bytes"][addmm] == 5 * 3 * 4
    assert ops["source"][addmm].endswith(f":{work.__code__.co_firstlineno + 1}")
    assert ops["source"][backward] == ops["source"][addmm]


def test_that_a_mode_of_the_program_is_left_alone() -> None:
    model = nn.Linear(4, 3)
    harness = Harness(model, torch.optim.SGD(model.parameters()), KINDS)
    with Mine() as mode:
        harness.begin()
        work(model, torch.randn(5, 4))
        harness.end()
        assert _get_current_dispatch_mode_stack() == [mode]
    assert harness.notices() == ["ops-mode"]


def test_that_a_mode_entered_within_the_step_survives_its_end() -> None:
    model = nn.Linear(4, 3)
    harness = Harness(model, torch.optim.SGD(model.parameters()), KINDS)
    harness.begin()
    with Mine() as mode:
        work(model, torch.randn(5, 4))
        harness.end()
        assert _get_current_dispatch_mode_stack() == [mode]
        mode.seen.clear()
        torch.ones(2).sum()
        assert mode.seen
    assert _get_current_dispatch_mode_stack() == []
    assert "aten.addmm.default" in harness.record("ops")["op"]


def test_that_the_list_is_bounded_and_says_so(monkeypatch) -> None:
    monkeypatch.setattr(ops_module, "MAX_OPS", 7)
    model = nn.Linear(4, 3)
    harness = Harness(model, torch.optim.SGD(model.parameters()), KINDS)
    harness.begin()
    work(model, torch.randn(5, 4))
    harness.end()
    ops = harness.record("ops")
    assert len(ops["op"]) == 7
    assert not ops["meta"]["complete"]
