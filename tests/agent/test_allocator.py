"""The capture on real models: sums, categories, the program's own profiler, threads, start and stop."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tensorscope.agent.capture.recorder_build import RecorderUnavailableError
from tensorscope.core.schema import CATEGORIES
from tests.agent.allocator_cases import CASES, TinyGpt, mlp, tokens
from tests.agent.allocator_harness import Harness, Replay, values

ROOT = Path(__file__).parents[2]
CHILD_ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)
    torch.manual_seed(0)


def totals_by_category(replay: Replay) -> dict[str, int]:
    return dict(zip(CATEGORIES, replay.by_category, strict=True))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("foreach", [False, True])
def test_that_sums_hold_at_every_event_and_names_get_their_bytes(case: str, foreach: bool) -> None:
    make_model, make_input = CASES[case]
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters(), foreach=foreach)
    with Harness(model, optimizer) as harness:
        for _ in range(4):
            harness.train_step(make_input)
        live, peak = harness.context.memory_totals()
        replay = Replay(harness.frames)
        assert harness.capture.recorder_kind == "native"
        assert live == replay.live()
        assert live <= peak <= replay.peak
    by_name = totals_by_category(replay)
    parameters = sum(p.untyped_storage().nbytes() for p in model.parameters())
    assert by_name["parameter"] == by_name["gradient"] == parameters
    assert by_name["optimizer_state"] == 2 * parameters + 4 * len(list(model.parameters()))
    assert by_name["buffer"] == sum(b.untyped_storage().nbytes() for b in model.buffers())
    assert by_name["unknown"] == 0
    seen = {CATEGORIES[category] for _, _, category in replay.seen}
    assert seen >= {"activation", "temporary", "input", "gradient"}


def test_that_gradients_freed_by_zero_grad_are_freed_as_gradients() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Harness(model, optimizer) as harness:
        for _ in range(3):
            harness.train_step(lambda: torch.randn(16, 32))
        replay = Replay(harness.frames)
    gradient = CATEGORIES.index("gradient")
    parameters = sum(p.untyped_storage().nbytes() for p in model.parameters())
    for step in (1, 2):
        made = sum(delta for at, delta, c in replay.seen if (at, c) == (step, gradient) and delta > 0)
        gone = sum(delta for at, delta, c in replay.seen if (at, c) == (step, gradient) and delta < 0)
        assert (made, gone) == (parameters, -parameters)


def test_that_frees_of_blocks_older_than_the_recording_are_seen_when_they_happen() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.randn(16, 32)).sum().backward()  # gradients from before
    with Harness(model, optimizer) as harness:
        harness.train_step(lambda: torch.randn(16, 32))
        replay = Replay(harness.frames)
        store = harness.store()
    assert len(harness.frames) == 2
    first = next(frame for frame in harness.frames if frame.kind == "alloc")
    old = [m for m, d in zip(values(first, "module"), values(first, "delta_bytes"), strict=True) if d < 0]
    assert store.strings.index("(inferred)") not in old
    assert totals_by_category(replay)["gradient"] == sum(
        p.untyped_storage().nbytes() for p in model.parameters()
    )


def test_that_a_gradient_that_the_program_still_holds_is_not_freed() -> None:
    model = nn.Linear(64, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.randn(16, 64)).sum().backward()
    held = [p.grad for p in model.parameters()]
    with Harness(model, optimizer) as harness:
        for _ in range(2):
            harness.train_step(lambda: torch.randn(16, 64))
        size = sum(g.untyped_storage().nbytes() for g in held)
        assert totals_by_category(Replay(harness.frames))["gradient"] == 2 * size
        del held
        harness.boundary()
        assert totals_by_category(Replay(harness.frames))["gradient"] == size


def test_that_memory_of_no_allocator_of_torch_is_in_the_baseline_and_leaves_when_unnamed() -> None:
    memory = bytearray(4 * 64)
    model = nn.Linear(64, 1, bias=False)
    model.register_buffer("foreign", torch.frombuffer(memory, dtype=torch.float32))
    with Harness(model) as harness:
        assert totals_by_category(Replay(harness.frames))["buffer"] == 256
        model.foreign = None
        harness.boundary()
        assert totals_by_category(Replay(harness.frames))["buffer"] == 0


def test_that_the_live_total_is_what_is_alive() -> None:
    held: list[torch.Tensor] = []
    with Harness(nn.Identity()) as harness:
        held.extend(torch.zeros(size) for size in (10, 1000, 33))
        held.append(held[0][2:5])  # a view: no memory of its own
        held[1].resize_(4000)
        del held[2]
        harness.boundary()
        alive = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in held}
        assert harness.context.memory_totals()[0] == sum(alive.values())


def test_that_accumulated_gradients_and_two_forwards_add_up() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with Harness(model, optimizer) as harness:
        for _ in range(2):
            optimizer.zero_grad()
            for _ in range(3):
                harness.backward(harness.forward(torch.randn(4, 32)).sum())
            harness.optimize()
            harness.boundary()
        by_name = totals_by_category(Replay(harness.frames))
    assert by_name["gradient"] == by_name["parameter"] == by_name["optimizer_state"]


def test_that_the_programs_profiler_runs_and_recording_goes_on_after_it() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Harness(model, optimizer) as harness:
        harness.train_step(lambda: torch.randn(4, 32))
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            harness.train_step(lambda: torch.randn(4, 32))
            assert harness.context.memory_totals() == (-1, -1)
        assert any(event.key == "aten::addmm" for event in profile.key_averages())
        harness.boundary()
        harness.train_step(lambda: torch.randn(4, 32))
        replay = Replay(harness.frames)
        assert harness.context.memory_totals()[0] == replay.live()
        assert harness.notices() == ["allocator-aside", "allocator-resumed"]
        assert [f.meta["reason"] for f in harness.frames if f.kind == "baseline"] == ["start", "resync"]
        assert {step for step, _, _ in replay.seen} == {0, 3}


def test_that_a_profiler_that_was_there_first_is_left_alone() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with (
        torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]),
        Harness(model, optimizer) as harness,
    ):
        harness.train_step(lambda: torch.randn(4, 32))
        assert harness.notices() == ["allocator-aside"]


def test_that_stop_leaves_nothing() -> None:
    import torch.autograd.profiler as profiler

    before = profiler._enable_profiler, torch.autograd._enable_profiler, threading.active_count()
    with Harness(mlp()) as harness:
        assert harness.capture.recorder.is_pushed()
        assert profiler._enable_profiler is not before[0]
        assert not torch.autograd._profiler_enabled()  # whoever asks is told that nobody profiles
        assert torch._C._autograd._profiler_type() == torch._C._profiler.ActiveProfilerType.NONE
    assert (profiler._enable_profiler, torch.autograd._enable_profiler, threading.active_count()) == before
    assert harness.context.memory_totals is None
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        torch.ones(3)


def test_that_a_wrapper_around_ours_survives_our_stop() -> None:
    import torch.autograd.profiler as profiler

    original = profiler._enable_profiler
    harness = Harness(mlp())
    with harness:
        ours = profiler._enable_profiler
        theirs = lambda *args: ours(*args)  # noqa: E731
        profiler._enable_profiler = theirs
    try:
        assert profiler._enable_profiler is theirs
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
            torch.ones(3)
    finally:
        profiler._enable_profiler = original


def test_that_forward_and_backward_in_another_thread_are_seen_and_the_thread_is_left() -> None:
    model = mlp()
    pushed: list[bool] = []
    with Harness(model, torch.optim.SGD(model.parameters(), lr=0.1)) as harness:

        def work() -> None:
            loss = harness.forward(torch.randn(4, 32)).sum()
            pushed.append(harness.capture.recorder.is_pushed())
            harness.backward(loss)
            pushed.append(harness.capture.recorder.is_pushed())

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        harness.boundary()
        replay = Replay(harness.frames)
        assert pushed == [False, False]
        assert harness.capture.recorder.is_pushed()
    by_name = totals_by_category(replay)
    assert by_name["gradient"] == sum(p.untyped_storage().nbytes() for p in model.parameters())
    assert {CATEGORIES[c] for _, _, c in replay.seen} >= {"activation", "gradient", "temporary"}


def test_that_a_resync_tells_all_that_is_alive() -> None:
    model = mlp()
    with Harness(model, torch.optim.SGD(model.parameters(), lr=0.1)) as harness:
        harness.train_step(lambda: torch.randn(4, 32))
        kept = torch.zeros(1000)
        harness.boundary()
        before = len(harness.frames)
        harness.capture.resync()
        harness.train_step(lambda: torch.randn(4, 32))
        late = Replay(harness.frames[before:])  # a client that came late
        assert late.live() == Replay(harness.frames).live() == harness.context.memory_totals()[0]
        store = harness.store()
        baseline = store.records("baseline")[-1]
        names = {store.string(int(name)) for name in baseline.columns["name"]}
        assert names == {
            "",
            *dict(model.named_parameters()),
            *(f"{n}.grad" for n, _ in model.named_parameters()),
        }
        del kept


def test_that_pulse_keeps_totals_and_emits_nothing_until_rows_are_wanted() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Harness(model, optimizer, rows=False) as harness:
        for _ in range(3):
            harness.train_step(lambda: torch.randn(4, 32))
        live, peak = harness.context.memory_totals()
        harness.capture.resync()
        assert not harness.frames
        assert peak > live > 0
        harness.capture.set_rows(True)
        assert Replay(harness.frames).live() == live
        harness.train_step(lambda: torch.randn(4, 32))
        assert Replay(harness.frames).live() == harness.context.memory_totals()[0] == live
        harness.capture.set_rows(False)
        count = len(harness.frames)
        harness.train_step(lambda: torch.randn(4, 32))
        assert len(harness.frames) == count


def test_that_a_failed_allocation_is_told() -> None:
    with Harness(mlp()) as harness:
        with pytest.raises(RuntimeError, match="allocate"):
            torch.empty(1 << 60, dtype=torch.uint8)
        harness.boundary()
        notices = [frame.meta for frame in harness.frames if frame.kind == "notice"]
    assert [notice["code"] for notice in notices] == ["out-of-memory"]
    assert "1,152,921,504,606,846,976 bytes failed on the CPU" in notices[0]["text"]


def test_that_losses_and_random_numbers_are_those_of_a_plain_run() -> None:
    def run(recorded: bool) -> tuple[list[float], torch.Tensor]:
        torch.manual_seed(7)
        model = TinyGpt()
        optimizer = torch.optim.AdamW(model.parameters())
        losses = []
        harness = Harness(model, optimizer)
        for step in range(6):
            if recorded and step == 1:
                harness.start()
            if recorded and step == 4:
                harness.capture.stop()
            optimizer.zero_grad()
            loss = harness.forward(tokens()).square().mean()
            harness.backward(loss)
            harness.optimize()
            harness.boundary() if recorded and 1 <= step < 4 else None
            losses.append(loss.item())
        return losses, torch.get_rng_state()

    plain, recorded = run(False), run(True)
    assert plain[0] == recorded[0]
    assert torch.equal(plain[1], recorded[1])


def no_compiler() -> None:
    raise RecorderUnavailableError("There is no C++ compiler here.")


@pytest.mark.parametrize("case", ["mlp", "gpt", "gpt-checkpointed", "resizing"])
def test_that_without_a_compiler_the_python_recorder_keeps_the_same_books(case: str) -> None:
    make_model, make_input = CASES[case]
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters())
    with Harness(model, optimizer, build=no_compiler) as harness:
        assert harness.capture.recorder_kind == "python"
        assert "no C++ compiler" in harness.capture.recorder_note
        assert harness.notices() == ["allocator-fallback"]
        for _ in range(4):
            harness.train_step(make_input)
        gc.collect()
        replay = Replay(harness.frames)
        assert harness.context.memory_totals()[0] == replay.live()
    by_name = totals_by_category(replay)
    parameters = sum(p.untyped_storage().nbytes() for p in model.parameters())
    assert by_name["parameter"] == by_name["gradient"] == parameters
    assert by_name["buffer"] == sum(b.untyped_storage().nbytes() for b in model.buffers())
    assert {CATEGORIES[c] for _, _, c in replay.seen} >= {"activation", "temporary", "input", "gradient"}


def test_that_both_recorders_agree_on_a_step_without_workspaces() -> None:
    def peak_and_kept(**options: object) -> tuple[int, dict[str, int]]:
        torch.manual_seed(0)
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
        with Harness(model, optimizer, **options) as harness:
            for _ in range(3):
                harness.train_step(lambda: torch.randn(16, 32))
            return harness.context.memory_totals()[1], totals_by_category(Replay(harness.frames))

    assert peak_and_kept() == peak_and_kept(build=no_compiler)


def test_that_a_library_that_is_not_ready_delays_the_recording_not_the_training() -> None:
    ready = threading.Event()

    def slow_build():
        from tensorscope.agent.capture.recorder_build import build_library

        assert ready.wait(60)
        return build_library()

    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Harness(model, optimizer, build=slow_build, wait=False) as harness:
        harness.train_step(lambda: torch.randn(4, 32))
        assert harness.capture.recorder_kind == "none"
        assert harness.context.memory_totals() == (-1, -1)
        assert not harness.frames
        ready.set()
        while harness.capture._build.running:
            threading.Event().wait(0.01)
        harness.boundary()
        harness.train_step(lambda: torch.randn(4, 32))
        assert harness.capture.recorder_kind == "native"
        assert {step for step, _, _ in Replay(harness.frames).seen} == {2}


def test_that_a_stop_from_elsewhere_falls_silent_and_still_lets_the_programs_profiler_in() -> None:
    import torch.autograd.profiler as profiler

    original = profiler._enable_profiler
    harness = Harness(mlp())
    harness.start()
    recorder = harness.capture.recorder
    stopper = threading.Thread(target=harness.capture.stop)
    stopper.start()
    stopper.join()
    held = torch.zeros(1000)
    assert recorder.is_pushed()
    assert recorder.totals()[0] == sum(p.untyped_storage().nbytes() for p in harness.model.parameters())
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        torch.ones(3)
    assert profiler._enable_profiler is original
    del held


def test_that_the_python_recorder_leaves_compiled_programs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorscope.agent.capture import allocator_python

    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Harness(model, optimizer, build=no_compiler) as harness:
        harness.train_step(lambda: torch.randn(4, 32))
        assert harness.capture.recorder_kind == "python"
        monkeypatch.setattr(allocator_python, "uses_compile", lambda: True)  # torch.compile was called
        harness.boundary()
        assert harness.capture.recorder_kind == "none"
        assert "torch.compile" in harness.capture.recorder_note
        assert torch.utils._python_dispatch._get_current_dispatch_mode() is None
        assert harness.notices() == ["allocator-fallback", "allocator-aside"]
        assert harness.context.memory_totals() == (-1, -1)


def test_that_a_forked_child_records_nothing() -> None:
    """Data loader workers are children: what they allocate is no memory of the program's."""
    code = """
import os, torch
from tests.agent.allocator_harness import Harness
with Harness(torch.nn.Identity()) as harness:
    recorder = harness.capture.recorder
    if (child := os.fork()) == 0:
        kept = [torch.zeros(100) for _ in range(5)]
        rows = recorder.finish_step(None)
        os._exit(len(rows["t_ns"]))
    assert os.waitpid(child, 0)[1] == 0, "the child recorded"
    kept = torch.zeros(10)
    assert len(recorder.finish_step(None)["t_ns"]) == 1, "the parent goes on"
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=CHILD_ENVIRONMENT, check=False)
    assert done.returncode == 0


def test_that_a_program_that_ends_while_recording_ends_well() -> None:
    code = """
import torch
from tests.agent.allocator_harness import Harness
harness = Harness(torch.nn.Linear(100, 100))
harness.start()
kept = [torch.zeros(1000) for _ in range(1000)]
harness.forward(torch.randn(4, 100)).sum().backward()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=CHILD_ENVIRONMENT, check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


operation = st.sampled_from(["new", "view", "drop", "resize", "inplace", "use", "backward", "boundary"])


@settings(max_examples=40, deadline=None)
@given(script=st.lists(st.tuples(operation, st.integers(0, 99)), max_size=40))
def test_that_any_use_of_tensors_adds_up_to_what_is_alive(script: list[tuple[str, int]]) -> None:
    held: list[torch.Tensor] = []
    weight = nn.Parameter(torch.ones(8))
    model = nn.ParameterList([weight])
    weight.grad = None
    with Harness(model) as harness:
        for kind, number in script:
            chosen = held[number % len(held)] if held else None
            if kind == "new":
                held.append(torch.zeros(8 * (number + 1)))
            elif kind == "boundary":
                harness.boundary()
            elif kind == "backward":
                harness.backward((weight * torch.ones(8)).exp().sum())
            elif chosen is None:
                continue
            elif kind == "view":
                held.append(chosen.view(-1)[: number + 1])
            elif kind == "drop":
                del held[number % len(held)]
            elif kind == "resize" and chosen._base is None:
                chosen.resize_(8 * (number + 1))
            elif kind == "inplace":
                chosen.add_(1.0)
            elif kind == "use":
                held.append(chosen * 2)
        chosen = None
        harness.boundary()
        alive = [*held, weight, *([] if weight.grad is None else [weight.grad])]
        storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in alive}
        assert harness.context.memory_totals()[0] == sum(storages.values())
        assert Replay(harness.frames).live() == sum(storages.values())


@pytest.mark.parametrize(("from_the_start", "said"), [(True, False), (False, True)])
def test_that_a_recorder_that_came_late_says_what_is_in_no_total(from_the_start: bool, said: bool) -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Harness(model, optimizer, build=no_compiler, wait=from_the_start) as harness:
        harness.train_step(lambda: torch.randn(4, 32))
        assert ("Attached while the program ran" in harness.capture.recorder_note) is said
