"""Real programs, recorded by the agent alone, judged by the rules and summed event by event."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tensorscope.core.resource_paths import resource_path
from tensorscope.core.schema import CATEGORIES
from tensorscope.launch.target import Target, TargetOptions
from tensorscope.models.findings import find
from tensorscope.models.session_loading import load_session
from tensorscope.models.session_model import SessionModel

HEAD = """
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
optimizer = torch.optim.Adam(net.parameters())
kept = []
for step in range(30):
    inputs = torch.randn(64, 64)
    optimizer.zero_grad()
    loss = net(inputs).pow(2).mean()
"""
PLAIN = "    loss.backward()\n    optimizer.step()\n"
PROGRAMS = {
    "healthy": (PLAIN, []),
    "keeps numbers": (PLAIN + "    kept.append(loss.item())\n", []),
    "accumulates": ("    (loss / 4).backward()\n    if step % 4 == 3: optimizer.step()\n", []),
    "retained graph": (
        "    loss.backward(retain_graph=True)\n    optimizer.step()\n    kept.append(loss)\n",
        ["graph-kept", "retain-graph"],
    ),
    "losses of another forward": (
        PLAIN + "    kept.append(net(inputs).pow(2).mean())\n",
        ["live-bytes-grow"],
    ),
    "predictions": (
        PLAIN + "    kept.append(torch.cat([net(inputs) for _ in range(8)]).detach())\n",
        ["live-bytes-grow"],
    ),
    "bounded cache": (PLAIN + "    kept = (kept + [torch.randn(999)])[-4:]\n", []),
}


def record(folder: Path, script: Path, *arguments: str, steps: int = 0) -> SessionModel:
    path = folder / "a.tscope"
    options = TargetOptions([str(script), *arguments], record=path, steps=steps, address="none", quiet=True)
    target = Target.start(options)
    try:
        target.wait_ready()
        assert target.process.wait(120) == 0, target.output_tail()
    finally:
        target.stop()
    session = load_session(path)
    assert session.problems == []
    return session


@pytest.mark.parametrize("name", PROGRAMS)
def test_that_real_programs_are_judged_by_what_they_do(name: str, tmp_path: Path) -> None:
    body, expected = PROGRAMS[name]
    script = tmp_path / "train.py"
    script.write_text(HEAD + body)
    found = find(record(tmp_path, script).store)
    assert [finding.code for finding in found] == expected
    for finding in found:
        if finding.code in ("graph-kept", "live-bytes-grow"):
            assert finding.evidence["bytes_per_step"] >= 1024
            assert finding.evidence["blocks"] >= 20


def test_that_the_categories_of_the_demo_sum_to_the_recorders_total_at_every_event(tmp_path: Path) -> None:
    small = ("--layers", "2", "--width", "48", "--heads", "2", "--batch-size", "2", "--context", "32")
    store = record(tmp_path, resource_path("demos/char_gpt.py"), *small, steps=12).store
    assert store.hello["recorder"] == "native"
    baselines = store.records("baseline")
    alloc = store.tables["alloc"]
    starts = [record.rows["alloc"] for record in baselines]
    assert starts[0] == 0
    for record_, start, stop in zip(baselines, starts, [*starts[1:], len(alloc)], strict=True):
        live = np.zeros((len(CATEGORIES), stop - start + 1), np.int64)
        np.add.at(live[:, 0], record_.columns["category"], record_.columns["size_bytes"])
        live[alloc["category"][start:stop], np.arange(1, stop - start + 1)] += alloc["delta_bytes"][
            start:stop
        ]
        by_category = live.cumsum(axis=1)
        assert (by_category[:, 1:].sum(axis=0) == alloc["total_bytes"][start:stop]).all()
        assert by_category.min() >= 0
    assert len(alloc) > 5000
    used = {CATEGORIES[index] for index in np.unique(alloc["category"])}
    assert {"gradient", "optimizer_state", "activation", "temporary", "input"} <= used
    steps = store.tables["step"]
    assert steps["step"].tolist() == list(range(12))
    for step, peak in zip(steps["step"][1:], steps["peak_bytes"][1:], strict=True):
        assert alloc["total_bytes"][alloc["step"] == step].max() <= peak
