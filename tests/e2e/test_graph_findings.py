"""Findings about graphs and gradients: of real programs with one fault each, and silence about healthy "
"ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorscope.core.finding import Finding
from tensorscope.launch.target import Target, TargetOptions
from tensorscope.models.findings import find
from tensorscope.models.report import build_report
from tensorscope.models.session_loading import load_session
from tensorscope.models.session_model import SessionModel
from tests.support.shared_data import shared_file

HEAD = """
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16))
        self.head, self.other = nn.Linear(16, 1), nn.Linear(16, 1)
    def forward(self, x, how=lambda net, h: net.head(h) + net.other(h)):
        return how(self, self.body(x))
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
kept, hidden, total = [], torch.zeros(4, 8), 0
for step in range(8):
    x = torch.randn(4, 8)
    optimizer.zero_grad()
"""
LOSS = "    loss = net(x).square().mean()\n    loss.backward()\n    optimizer.step()\n"
PLAIN = "    net(x).square().mean().backward()\n    optimizer.step()\n"
FAULTS = {
    "losses are collected": (
        LOSS + "    kept.append(loss)\n", "graph-outlives-step", "kept[",
    ),
    "a sum runs": (
        LOSS + "    total = total + loss\n", "graph-outlives-step", "total",
    ),
    "a hidden state is not detached": (
        "    hidden = (hidden + net.head.bias).tanh()\n    hidden.mean().backward(retain_graph=True)\n"
        "    optimizer.step()\n",
        "graph-reaches-back", "",
    ),
    "a graph is used twice": (
        "    if step: hidden = hidden.detach() if step != 6 else hidden\n"
        "    hidden = net.body(hidden)[:, :8]\n    hidden.square().mean().backward()\n    optimizer.step()\n",
        "backward-twice", "",
    ),
    "a head is not used": (
        "    net(x, lambda net, h: net.head(h)).square().mean().backward()\n    optimizer.step()\n",
        "no-gradient", "other.weight: unused",
    ),
    "a head's result is dropped": (
        "    def how(net, h):\n        net.other(h)\n        return net.head(h)\n"
        "    net(x, how).square().mean().backward()\n    optimizer.step()\n",
        "no-gradient", "other.weight: not used by loss",
    ),
    "a part runs without gradients": (
        "    def how(net, h):\n        with torch.no_grad(): o = net.other(h)\n"
        "        return net.head(h) + o\n"
        "    net(x, how).square().mean().backward()\n    optimizer.step()\n",
        "no-gradient", "other.weight: detached",
    ),
    "a layer was replaced": (
        "    if step == 0: net.head = nn.Linear(16, 1)\n" + PLAIN, "stale-optimizer", "head.weight",
    ),
    "a saved result is written to": (
        "    h = net.body[1](net.body[0](x))\n    h += 1\n    net.head(h).sum().backward()\n    "
        "optimizer.step()\n",
        "inplace-write", "aten.add_",
    ),
    "a square root of zero": (
        "    y = net(x)\n    y = torch.where(x[:, :1] > 9, torch.sqrt(y * 0), y)\n    y.sum().backward()\n"
        "    optimizer.step()\n",
        "gradient-not-finite", "Sqrt",
    ),
    "a logarithm of zero": (
        "    net.body[1].forward = lambda h: (h * 0).log()\n" + PLAIN, "output-not-finite", "body.1",
    ),
    "a graph is retained": (
        "    net(x).square().mean().backward(retain_graph=True)\n    optimizer.step()\n", "retain-graph", "",
    ),
    "evaluation builds graphs": (
        "    net.eval()\n    score = float(net(x).mean().detach())\n    net.train()\n" + PLAIN,
        "eval-builds-graph", "",
    ),
    "hooks pile up": ("    net.head.weight.register_hook(lambda g: None)\n" + PLAIN, "hooks-pile-up", ""),
    "gradients vanish": (
        "    how = lambda net, h: net.head(h) + 1e-9 * net.other(h)\n"
        "    net(x, how).square().mean().backward()\n    optimizer.step()\n",
        "gradients-vanish", "other",
    ),
}  # fmt: skip
HEALTHY = {
    "plain": PLAIN,
    "loss kept as a number": (
        LOSS + "    kept.append(loss.item())\n"
    ),
    "detached state": (
        "    hidden = (hidden.detach() + net(x)).tanh()\n    hidden.square().mean().backward()\n"
        "    optimizer.step()\n"
    ),
    "gradient accumulation": (
        "    for _ in range(3): (net(x).square().mean() / 3).backward()\n    optimizer.step()\n"
    ),
    "two losses, one graph": (
        "    y = net(x)\n    y.mean().backward(retain_graph=True)\n    y.square().mean().backward()\n"
        "    optimizer.step()\n"
    ),
    "gradient penalty": (
        "    x.requires_grad_()\n    y = net(x).square().mean()\n"
        "    (g,) = torch.autograd.grad(y, [x], create_graph=True)\n    (y + g.square().sum()).backward()\n"
        "    optimizer.step()\n"
    ),
    "evaluation without gradients": (
        "    net.eval()\n    with torch.no_grad(): net(x)\n    net.train()\n" + PLAIN
    ),
    "training in eval mode": "    net.eval()\n" + PLAIN,
    "a frozen part": "    net.body.requires_grad_(False)\n" + PLAIN,
    "in-place where it does no harm": (
        "    h = net.body[2](net.body[1](net.body[0](x)))\n    h += 1\n"
        "    (net.head(h) + net.other(h)).square().mean().backward()\n    optimizer.step()\n"
    ),
    "two optimizers": (
        "    if step == 0: optimizer = torch.optim.SGD(net.body.parameters(), lr=1e-3); "
        "second = torch.optim.SGD([*net.head.parameters(), *net.other.parameters()], lr=1e-3)\n"
        "    net(x).square().mean().backward()\n    optimizer.step()\n    second.step()\n"
    ),
}  # fmt: skip


def found_in(script: Path, folder: Path, may_fail: bool = False) -> tuple[list[Finding], SessionModel]:
    path = folder / "a.tscope"
    options = TargetOptions(
        [str(script)], record=path, address="none", quiet=True, deep_every=2, gradients=True
    )
    target = Target.start(options)
    try:
        target.wait_ready()
        assert target.process.wait(120) == 0 or may_fail, target.output_tail()
    finally:
        target.stop()
    session = load_session(path)
    assert session.problems == []
    return find(session.store), session


@pytest.mark.parametrize("name", FAULTS)
def test_that_a_fault_is_found_and_named(name: str, tmp_path: Path) -> None:
    body, code, said = FAULTS[name]
    script = tmp_path / "train.py"
    script.write_text(HEAD + body)
    found, session = found_in(script, tmp_path, may_fail=code in ("inplace-write", "backward-twice"))
    mine = [finding for finding in found if finding.code == code]
    assert mine, [finding.title for finding in found]
    evidence = " ".join(map(str, mine[0].evidence.values()))
    assert said in mine[0].title + evidence
    assert code in [finding["code"] for finding in build_report(session.store)["findings"]]


@pytest.mark.parametrize("name", HEALTHY)
def test_that_a_healthy_program_is_told_nothing(name: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(HEAD + HEALTHY[name])
    found, _ = found_in(script, tmp_path)
    assert [finding.title for finding in found] == []


CASES = {
    "020_loss_sum_keeps_graph": "graph-outlives-step",
    "021_hidden_state_not_detached": "backward-twice",
    "030_unused_head": "no-gradient",
    "031_stale_optimizer": "stale-optimizer",
    "073_where_nan_grad": "gradient-not-finite",
    "014_flat_buffer_params": "",
    "058_high_water_is_not_a_leak": "",
}


@pytest.mark.parametrize("case", CASES)
def test_that_public_reports_are_diagnosed(case: str, tmp_path: Path) -> None:
    found, _ = found_in(shared_file(f"cases/{case}.py"), tmp_path)
    assert (CASES[case] in [one.code for one in found]) if CASES[case] else found == []
