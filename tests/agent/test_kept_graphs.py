"""What a deep step says of graphs that outlive their step, of what is trained and of modules' outputs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from tensorscope.agent.capture.autograd import AutogradCapture
from tensorscope.agent.capture.tensors import TensorsCapture
from tests.agent.deep_harness import Harness

SCRIPT = """
import json, torch
from torch import nn
from tensorscope.agent.capture.autograd import AutogradCapture
from tensorscope.agent.capture.kept_graphs import KeptGraphs
from tests.agent.deep_harness import Harness

LOSSES = []

def kept_after(train, steps=4):
    model = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    harness, state = Harness(model, optimizer, (AutogradCapture, KeptGraphs)), {}
    for step in range(steps):
        if step == steps - 1:
            harness.begin(step)
        optimizer.zero_grad()
        train(model, state)
        optimizer.step()
    harness.end(steps - 1)
    return harness.record("kept")

def plain(model, state):
    model(torch.randn(2, 3)).square().sum().backward()

def variable(model, state):
    state["loss"] = model(torch.randn(2, 3)).square().sum()
    state["loss"].backward()

def losses(model, state):
    variable(model, state)
    LOSSES.append(state["loss"])

def total(model, state):
    variable(model, state)
    state["total"] = state.get("total", 0) + state["loss"]

found = {}
for train in (plain, variable, losses, total):
    found[train.__name__] = kept_after(train)
    LOSSES.clear()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def kept() -> dict[str, dict]:
    """What the last of four steps says is kept, by program; in a process where nothing else is."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120, check=False, cwd=root,
        env={**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("program", ["plain", "variable"])
def test_that_a_program_that_keeps_nothing_is_told_so(kept: dict, program: str) -> None:
    assert (kept[program]["meta"]["count"], kept[program]["meta"]["nodes"]) == (0, 0)
    assert kept[program]["grad_fn"] == []
    assert not kept[program]["meta"]["truncated"]


def test_that_a_list_of_losses_is_named_with_its_place(kept: dict) -> None:
    losses = kept["losses"]
    assert losses["meta"]["count"] == 3
    assert losses["grad_fn"] == ["SumBackward0"] * 3
    assert [text.partition(" ")[0] for text in sorted(losses["holder"])] == [f"LOSSES[{n}]" for n in range(3)]
    assert losses["nodes"] == [4, 4, 4]  # sum, square, linear and the transposed weight


def test_that_a_running_sum_is_found_through_the_newest_tensor(kept: dict) -> None:
    assert kept["total"]["meta"]["count"] == 1
    assert kept["total"]["grad_fn"] == ["AddBackward0"]
    assert "['total']" in kept["total"]["holder"][0]


def test_that_a_hidden_state_that_is_not_detached_shows_in_the_graph_of_the_step() -> None:
    model = nn.Linear(3, 3)
    harness = Harness(model, torch.optim.SGD(model.parameters()))
    hidden = torch.zeros(2, 3)
    for step in range(3):
        if step == 2:
            harness.begin(step)
        hidden = model(hidden).tanh()
        hidden.sum().backward(retain_graph=True)
    harness.end(2)
    graph = harness.record("graph")
    first = graph["meta"]["first_seq"]
    older = [
        name
        for name, number in zip(graph["node_name"], graph["node_seq"], strict=True)
        if 0 <= number < first
    ]
    assert older.count("TanhBackward0") == 2
    (call,) = graph["meta"]["calls"]
    assert call["retain_graph"]


@pytest.mark.parametrize(("again", "shared"), [(True, 1), (False, 0)])
def test_that_a_backward_says_how_much_of_an_earlier_one_it_uses(again: bool, shared: int) -> None:
    model = nn.Linear(3, 1)
    harness = Harness(model, torch.optim.SGD(model.parameters()))
    harness.begin()
    loss = model(torch.randn(2, 3)).square().sum()
    loss.backward(retain_graph=True)
    (loss if again else model(torch.randn(2, 3)).square().sum()).backward()
    harness.end()
    assert harness.record("graph")["meta"]["calls"][1]["shared_nodes"] == shared


def test_that_parameters_say_whether_an_optimizer_trains_them() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    harness = Harness(model, torch.optim.SGD(model[0].parameters()), (AutogradCapture, TensorsCapture))
    harness.begin()
    model(torch.randn(2, 3)).sum().backward()
    harness.end()
    tensors = harness.record("tensors")
    trained = dict(zip(tensors["name"], tensors["trained"], strict=True))
    assert (trained["0.weight"], trained["1.weight"], trained["0.weight.grad"]) == (1, 0, 0)


def test_that_outputs_of_modules_are_measured_in_their_order() -> None:
    class Bad(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x / 0

    model = nn.Sequential(nn.Linear(3, 3), Bad(), nn.Linear(3, 1))
    harness = Harness(model, torch.optim.SGD(model.parameters()))
    harness.context.wants_gradients = True
    harness.begin()
    model(torch.randn(2, 3)).sum().backward()
    harness.end()
    graph = harness.record("graph")
    assert graph["output_module"] == ["0", "1", "2", ""]
    assert [bool(kind) for kind in graph["output_nonfinite"]] == [False, True, True, True]
