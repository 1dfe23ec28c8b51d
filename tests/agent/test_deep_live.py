"""Deep steps and toggles in a real program, asked for over the socket."""

import json
from pathlib import Path

import pytest

from tests.agent.target import Target, run_plain, write_script
from tests.agent.window import Window

LOOP = """
import json, os, sys, time
from torch import nn
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 4))
opt = torch.optim.AdamW(net.parameters())
losses, stop = [], sys.argv[1] + "/stop"
while not os.path.exists(stop):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(torch.randn(16, 8)), torch.randint(0, 4, (16,)))
    loss.backward()
    opt.step()
    losses.append(loss.item().hex())
    time.sleep(0.005)
print(json.dumps([losses, sorted(net.__dict__) == sorted(nn.Sequential().__dict__)]))
"""

COMPILED = """
import json
net = torch.nn.Linear(4, 2)
fast = torch.compile(net, backend="eager")
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(12):
    opt.zero_grad()
    loss = fast(torch.ones(3, 4)).sum()
    loss.backward()
    opt.step()
from torch._dynamo.utils import counters
print(json.dumps([loss.item().hex(), counters["frames"]["ok"], counters["frames"]["total"]]))
"""

COND = """
import json, warnings
warnings.simplefilter("ignore")
net = torch.nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    opt.zero_grad()
    out = net(torch.ones(3, 4))
    loss = torch.cond(out.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (out,)).sum()
    loss.backward()
    opt.step()
print(json.dumps([loss.item().hex()]))
"""


def test_that_values_deep_steps_and_toggles_are_answered(tmp_path: Path) -> None:
    script = write_script(tmp_path, LOOP)
    with Target(script, str(tmp_path)) as target, Window(target.address) as window:
        window.wait(lambda: len(window.of("step")) >= 3)
        assert window.command("deep").meta["ok"]
        window.wait(lambda: len(window.of("graph")) >= 2)
        graph = window.of("graph")[-1]
        assert graph.meta["loss"] is not None
        window.wait(lambda: [f.step for f in window.of("ops")][-1:] == [graph.step])
        assert window.of("tensors")[-1].step == graph.step
        (toggle,) = window.command("toggles").meta["result"]
        assert (toggle["name"], toggle["ok"], toggle["on"]) == ("autocast", True, False)
        refused = window.command("toggle", name="autocast", on=True, params={"dtype": "float16"})
        assert not refused.meta["ok"]
        assert "slower" in refused.meta["error"]
        assert "Error" not in refused.meta["error"]
        on = window.command("toggle", name="autocast", on=True, params={})
        assert on.meta["ok"], on.meta["error"]
        (told,) = window.of("toggle")
        assert told.step == on.meta["step"]
        window.wait(lambda: "autocast-bf16" in window.strings())
        bf16 = window.strings().index("autocast-bf16")
        window.wait(lambda: bf16 in window.column("step", "variant"))
        steps, variants = window.column("step", "step"), window.column("step", "variant")
        marked = [step for step, variant in zip(steps, variants, strict=True) if variant == bf16]
        assert min(marked) == told.step
        assert window.command("values", tensor="0.weight", shape=[2, 3]).meta["ok"]
        window.wait(lambda: window.of("values"))
        assert window.of("values")[0].columns["data"].shape == (2, 3)
        weight = window.of("tensors")[-1].columns["storage"]
        held = window.command("holders", addresses=[int(next(iter(memoryview(weight.data).cast("Q"))))]).meta
        assert held["ok"], held["error"]
        assert held["result"]["blocks"][0]["holders"]
        assert window.command("detach").meta["ok"]
        window.wait(lambda: window.of("bye"))
        assert window.of("toggle")[-1].meta["on"] is False
        (tmp_path / "stop").touch()
        code, out, err = target.finish()
    assert (code, err) == (0, "")
    assert json.loads(out)[1]


@pytest.mark.parametrize("text", [COMPILED, COND], ids=["compile", "cond"])
def test_that_a_program_that_compiles_runs_as_it_would_without_us(tmp_path: Path, text: str) -> None:
    script = write_script(tmp_path, text)
    record = tmp_path / "session.tscope"
    with Target(script, options=("--record", str(record))) as target:
        code, out, err = target.finish()
    assert (code, err) == (0, "")
    plain_code, plain_out, plain_err = run_plain(script)
    assert (plain_code, plain_err) == (0, "")
    assert json.loads(out) == json.loads(plain_out)
