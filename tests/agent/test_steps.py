"""What counts as one step, and where its time goes."""

import itertools
from pathlib import Path

import pytest

from tests.agent.target import PRELUDE, Target, write_script
from tests.agent.window import Window

HEAD = """
import os, sys, time
F = torch.nn.functional
def wait():
    "Until a window is attached."
    agent = sys.modules["tensorscope.agent.watch"].current()
    while not agent.courier.has_sink:
        time.sleep(0.01)
x, y = torch.randn(16, 8), torch.randn(16, 1)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
SGD = torch.optim.SGD
wait()
"""
PLAIN = """
opt = SGD(net.parameters(), lr=0.01)
for _ in range(20):
    opt.zero_grad()
    F.mse_loss(net(x), y).backward()
    opt.step()
"""
ACCUMULATION = """
opt = SGD(net.parameters(), lr=0.01)
for _ in range(20):
    opt.zero_grad()
    for _ in range(4):
        (F.mse_loss(net(x), y) / 4).backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        net(x)
    net.train()
"""
GAN = """
class Critic(torch.nn.Sequential): pass
critic = Critic(torch.nn.Linear(1, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
d, g = torch.optim.Adam(critic.parameters()), torch.optim.Adam(net.parameters())
for _ in range(20):
    for _ in range({ratio}):
        d.zero_grad()
        (critic(net(x).detach()).mean() - critic(y).mean()).backward()
        d.step()
    g.zero_grad()
    (-critic(net(x)).mean()).backward()
    g.step()
"""
LBFGS = """
opt = torch.optim.LBFGS(net.parameters(), max_iter=3)
def closure():
    opt.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    return loss
for _ in range(20):
    opt.step(closure)
"""
MANUAL = """
for _ in range(90):
    loss = F.mse_loss(net(x), y)
    grads = torch.autograd.grad(loss, list(net.parameters()))
    with torch.no_grad():
        for p, g in zip(net.parameters(), grads):
            p -= 0.01 * g
"""


def record(tmp_path: Path, body: str) -> Window:
    """Run a script to its end with a window on it; return the window."""
    script = write_script(tmp_path, HEAD + body, PRELUDE)
    with Target(script, options=("--no-deep-first",)) as target, Window(target.address) as window:
        window.wait(lambda: window.of("bye"))
        assert target.finish() == (0, "", "")
    assert not [f.meta for f in window.of("notice") if f.meta["severity"] == "error"]
    return window


def columns(window: Window, *names: str) -> list[list[float]]:
    return [window.column("step", name) for name in names]


def test_that_an_optimizer_step_is_a_step(tmp_path: Path) -> None:
    window = record(tmp_path, PLAIN)
    steps, backwards, optimizer_steps, loss = columns(window, "step", "backwards", "optimizer_steps", "loss")
    assert steps == list(range(steps[0], 20))
    assert set(backwards) == {1}
    assert set(optimizer_steps) == {1}
    assert loss == sorted(loss, reverse=True)
    assert min(min(values) for values in columns(window, "forward_ns", "backward_ns", "optimizer_ns")) > 0


def test_that_phases_fill_the_step_without_a_gap_or_an_overlap(tmp_path: Path) -> None:
    window = record(tmp_path, PLAIN)
    phases = list(zip(*(window.column("phase", n) for n in ("step", "phase", "t0_ns", "t1_ns")), strict=True))
    starts, ends, forward = columns(window, "t0_ns", "t1_ns", "forward_ns")
    for i, step in enumerate(window.column("step", "step")):
        mine = [row for row in phases if row[0] == step]
        assert mine[0][2] == starts[i]
        assert mine[-1][3] == ends[i]
        assert all(before[3] == after[2] for before, after in itertools.pairwise(mine))
        assert sum(t1 - t0 for _, phase, t0, t1 in mine if phase == 1) == forward[i]
        assert [phase for _, phase, _, _ in mine] == [0, 1, 2, 0, 3]


def test_that_accumulated_backwards_belong_to_one_step(tmp_path: Path) -> None:
    window = record(tmp_path, ACCUMULATION)
    steps, backwards, optimizer_steps = columns(window, "step", "backwards", "optimizer_steps")
    assert steps[-1] == 19
    assert set(backwards) == {4}
    assert set(optimizer_steps) == {1}


def test_that_evaluation_without_gradients_is_no_forward_phase(tmp_path: Path) -> None:
    window = record(tmp_path, ACCUMULATION)
    phases = window.column("phase", "phase")
    assert phases.count(1) == 4 * len(window.of("step"))


@pytest.mark.parametrize(("ratio", "most"), [(1, 21), (3, 23)])
def test_that_a_gan_closes_its_step_with_the_optimizer_that_steps_least(
    tmp_path: Path, ratio: int, most: int
) -> None:
    window = record(tmp_path, GAN.format(ratio=ratio))
    steps, optimizer_steps = columns(window, "step", "optimizer_steps")
    # Before the second optimizer is seen for the first time, the first one closes steps.
    assert 20 <= steps[-1] + 1 <= most
    assert set(optimizer_steps[-10:]) == {ratio + 1}
    names = window.strings()
    assert "Sequential.0" in names
    assert "Critic.0" in names


def test_that_a_closure_inside_the_optimizer_counts_as_forward_and_backward(tmp_path: Path) -> None:
    window = record(tmp_path, LBFGS)
    steps, optimizer_steps = columns(window, "step", "optimizer_steps")
    assert steps[-1] == 19
    assert set(optimizer_steps) == {1}
    forward, backward, optimizer = columns(window, "forward_ns", "backward_ns", "optimizer_ns")
    assert min(forward[1:]) > 0
    assert min(backward[1:]) > 0
    assert min(optimizer[1:]) > 0
    for i, start in enumerate(window.column("step", "t0_ns")):
        whole = window.column("step", "t1_ns")[i] - start
        assert forward[i] + backward[i] + optimizer[i] <= whole


def test_that_a_program_without_an_optimizer_steps_with_each_backward(tmp_path: Path) -> None:
    window = record(tmp_path, MANUAL)
    steps, backwards, optimizer_steps = columns(window, "step", "backwards", "optimizer_steps")
    assert 30 <= len(steps) <= 40
    assert set(backwards[1:]) == {1}
    assert set(optimizer_steps) == {0}
