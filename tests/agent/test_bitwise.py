"""A run that was attached and detached is, bit for bit, the plain run."""

import json
from pathlib import Path

from tests.agent.target import Target, run_plain, write_script
from tests.agent.window import Window

SCRIPT = """
import hashlib, json, os, random, sys, time
random.seed(1)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Dropout(0.3),
    torch.nn.Flatten(), torch.nn.Linear(8 * 8 * 8, 10),
)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
losses = []
for step in range(45):
    x = torch.randn(4, 3, 8, 8) + random.random()
    loss = torch.nn.functional.cross_entropy(net(x), torch.randint(0, 10, (4,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item().hex())
    while step == 14 and not os.path.exists(sys.argv[1] + "/go"):
        opt.param_groups[0]["lr"] = 1e-3
        time.sleep(0.01)
    if step == 20:
        open(sys.argv[1] + "/reached", "w").close()
    while step == 20 and not os.path.exists(sys.argv[1] + "/on"):
        time.sleep(0.01)
    time.sleep(0.03 * (step > 20))  # long enough for the window to say detach before the last step
digest = hashlib.sha256()
for tensor in [*net.state_dict().values(), *(s for p in opt.state.values() for s in p.values())]:
    digest.update(tensor.numpy().tobytes() if tensor.numel() else b"")
from torch.nn.modules import module
print(json.dumps({
    "losses": losses, "state": digest.hexdigest(), "random": repr(random.getstate()),
    "rng": hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest(),
    "hooks": [len(module._global_forward_hooks), len(module._global_forward_pre_hooks)],
    "engine": torch.autograd._engine_run_backward.__module__,
}))
"""


def test_that_a_run_attached_and_detached_in_the_middle_equals_the_plain_run(tmp_path: Path) -> None:
    script = write_script(tmp_path, SCRIPT)
    with Target(script, str(tmp_path)) as target, Window(target.address) as window:
        (tmp_path / "go").touch()
        window.wait(lambda: (tmp_path / "reached").exists())
        window.wait(lambda: len(window.of("step")) >= 4)
        (tmp_path / "on").touch()
        reply = window.command("detach")
        assert reply.meta["ok"]
        window.wait(lambda: window.of("bye"))
        code, out, err = target.finish()
    assert (code, err) == (0, "")
    assert {2, 1} <= set(window.column("step", "level"))
    assert 0 < len(window.of("step")) < 45
    plain_code, plain_out, plain_err = run_plain(script, str(tmp_path))
    assert (plain_code, plain_err) == (0, "")
    assert json.loads(out) == json.loads(plain_out)
