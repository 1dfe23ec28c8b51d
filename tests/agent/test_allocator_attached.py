"""The memory capture inside a real agent in a real process: what a window gets adds up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorscope.core.schema import CATEGORIES
from tests.agent.allocator_harness import Replay
from tests.agent.target import Target, write_script
from tests.agent.test_steps import ACCUMULATION, GAN, HEAD, LBFGS
from tests.agent.window import Window

ADAM = """
opt = torch.optim.AdamW(net.parameters())
for _ in range(20):
    opt.zero_grad()
    F.mse_loss(net(torch.randn(16, 8)), y).backward()
    opt.step()
"""
ENDLESS = """
opt = SGD(net.parameters(), lr=0.01)
while True:
    opt.zero_grad()
    F.mse_loss(net(x), y).backward()
    opt.step()
    time.sleep(0.01)
"""
PROFILED = """
opt = SGD(net.parameters(), lr=0.01)
def steps(count):
    for _ in range(count):
        opt.zero_grad()
        F.mse_loss(net(x), y).backward()
        opt.step()
steps(5)
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
    steps(5)
assert any(event.key == "aten::addmm" for event in profile.key_averages())
steps(5)
"""


def record(tmp_path: Path, body: str) -> Window:
    """Run a script to its end with a window on it; return the window."""
    script = write_script(tmp_path, HEAD + body)
    with Target(script, options=("--no-deep-first",)) as target, Window(target.address) as window:
        window.wait(lambda: window.of("bye"))
        code, _, errors = target.finish()
    assert code == 0, errors
    assert not [f.meta for f in window.of("notice") if f.meta["severity"] == "error"]
    return window


def check_sums(window: Window) -> Replay:
    replay = Replay(window.frames)
    assert window.of("hello")[-1].meta["recorder"] == "native"
    live, peak = window.column("step", "live_bytes"), window.column("step", "peak_bytes")
    assert live[-1] == replay.live()
    assert all(0 < low <= high for low, high in zip(live[1:], peak[1:], strict=True))
    assert max(peak) == replay.peak
    return replay


@pytest.mark.parametrize(
    "body", [ACCUMULATION, GAN.format(ratio=3), LBFGS], ids=["accumulation", "gan", "lbfgs"]
)
def test_that_a_window_gets_sums_that_hold_at_every_event(tmp_path: Path, body: str) -> None:
    replay = check_sums(record(tmp_path, body))
    seen = {CATEGORIES[category] for _, _, category in replay.seen}
    assert seen >= {"activation", "temporary", "gradient"}
    assert replay.by_category[CATEGORIES.index("parameter")] > 0


def test_that_modules_and_categories_are_those_of_the_program(tmp_path: Path) -> None:
    window = record(tmp_path, ADAM)
    replay = check_sums(window)
    strings = window.strings()
    assert {strings[int(number)] for number in window.column("alloc", "module")} >= {"0", "2"}
    by_name = dict(zip(CATEGORIES, replay.by_category, strict=True))
    parameters = 4 * (8 * 16 + 16 + 16 + 1)
    assert by_name["parameter"] == by_name["gradient"] == parameters
    assert by_name["optimizer_state"] == 2 * parameters + 4 * 4
    assert CATEGORIES.index("input") in {category for _, _, category in replay.seen}


def test_that_the_programs_own_profiler_works_and_recording_goes_on(tmp_path: Path) -> None:
    window = record(tmp_path, PROFILED)
    codes = [frame.meta["code"] for frame in window.of("notice")]
    assert [code for code in codes if code.startswith("allocator")] == [
        "allocator-aside",
        "allocator-resumed",
    ]
    Replay(window.frames)
    live = window.column("step", "live_bytes")
    assert live[3] > 0
    assert -1 in live
    assert live[-1] > 0


def test_that_a_recorder_that_must_be_built_first_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    script = write_script(tmp_path, HEAD + ENDLESS)
    with (
        Target(script, options=("--no-deep-first",)) as target,
        Window(target.address) as window,
    ):

        def recorders() -> list[str]:
            return [frame.meta["recorder"] for frame in window.of("hello")]

        window.wait(lambda: "native" in recorders() and window.of("alloc"))
    assert recorders()[0] == "none"
    assert len(window.column("step", "step")) > 20, "steps went by while it was built"
    assert window.column("step", "live_bytes")[0] == -1
    Replay(window.frames)
