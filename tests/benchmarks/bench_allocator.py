"""Step time with the allocator recorder on, beside what torch itself offers. One JSON object a line.

    python -m tests.benchmarks.bench_allocator [seconds]

Blocks of steps with and without each recorder alternate, so that drift of the machine hits both; a ratio
is the median over rounds of (recorded block / plain block beside it), in CPU time of the process, which
other programs on the machine disturb less. The model is a small character transformer on one thread.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

os.environ["KINETO_LOG_LEVEL"] = "99"

import torch
from torch import nn

from tensorscope.agent.capture.recorder_build import RecorderUnavailableError, build_library
from tests.agent.allocator_harness import Harness

WIDTH, HEADS, LAYERS, BATCH, LENGTH = 128, 4, 8, 4, 64
BLOCK_STEPS = 3
SLOW = ("python", "mem_tracker")
SLOW_ROUNDS = 3


class CharacterModel(nn.Module):
    """A transformer with as many parameters and operators as a small GPT."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(96, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, 96)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.embed(tokens)))


class Loop:
    """The model and its training step, with the capture's hooks called or not."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = CharacterModel()
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.tokens = torch.randint(0, 96, (BATCH, LENGTH))

    def step(self) -> None:
        self.optimizer.zero_grad()
        logits = self.model(self.tokens)
        nn.functional.cross_entropy(logits.flatten(0, 1), self.tokens.flatten()).backward()
        self.optimizer.step()


@contextlib.contextmanager
def plain(loop: Loop) -> Iterator[Callable[[], None]]:
    yield loop.step


def recorder(**options: object) -> Callable[[Loop], AbstractContextManager[Callable[[], None]]]:
    """Return a way to run steps under an AllocatorCapture with `options`."""

    @contextlib.contextmanager
    def recorded(loop: Loop) -> Iterator[Callable[[], None]]:
        with Harness(loop.model, loop.optimizer, **options) as harness:

            def step() -> None:
                loop.optimizer.zero_grad()
                logits = harness.forward(loop.tokens)
                loss = nn.functional.cross_entropy(logits.flatten(0, 1), loop.tokens.flatten())
                harness.backward(loss)
                harness.optimize()
                harness.boundary()
                harness.frames.clear()

            step()
            yield step

    return recorded


@contextlib.contextmanager
def profiler(loop: Loop) -> Iterator[Callable[[], None]]:
    """Profile whole blocks; what start and stop cost is left out of the time, in its favour."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True):
        yield loop.step


@contextlib.contextmanager
def mem_tracker(loop: Loop) -> Iterator[Callable[[], None]]:
    from torch.distributed._tools.mem_tracker import MemTracker

    tracker = MemTracker()
    tracker.track_external(loop.model, loop.optimizer)
    with tracker:

        def step() -> None:
            tracker.reset_mod_stats()
            loop.step()

        yield step


@contextlib.contextmanager
def dispatch(loop: Loop) -> Iterator[Callable[[], None]]:
    """Use a dispatch mode that does nothing: the floor of every recorder made of one."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Nothing(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with Nothing():
        yield loop.step


def block_seconds(loop: Loop, way: Callable[[Loop], AbstractContextManager[Callable[[], None]]]) -> float:
    with way(loop) as step:
        start = time.process_time()
        for _ in range(BLOCK_STEPS):
            step()
        return (time.process_time() - start) / BLOCK_STEPS


def ratios(loop: Loop, ways: dict[str, Callable], seconds: float) -> tuple[dict[str, float], float]:
    """Return the median ratio of each way to the plain blocks around it, and plain seconds a step."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    plains: list[float] = []
    stop = time.monotonic() + seconds
    while time.monotonic() < stop or len(plains) < SLOW_ROUNDS * len(ways):
        for name, way in ways.items():
            if name in SLOW and len(found[name]) >= SLOW_ROUNDS:
                continue
            before = block_seconds(loop, plain)
            recorded = block_seconds(loop, way)
            after = block_seconds(loop, plain)
            found[name].append(2 * recorded / (before + after))
            plains += [before, after]
    return {name: statistics.median(values) for name, values in found.items()}, statistics.median(plains)


def no_compiler() -> None:
    raise RecorderUnavailableError("not wanted here")


def say(name: str, value: float, unit: str, peer: str = "", peer_value: float | None = None) -> None:
    ratio = value / peer_value if peer_value else None
    line = {"name": name, "value": round(value, 4), "unit": unit, "peer": peer, "peer_value": peer_value}
    print(json.dumps({**line, "ratio": ratio and round(ratio, 4)}))


def build_seconds() -> float:
    """Return how long compiling takes where nothing is cached."""
    before = os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory() as empty:
        os.environ["XDG_CACHE_HOME"] = empty
        start = time.perf_counter()
        build_library()
        took = time.perf_counter() - start
    os.environ.pop("XDG_CACHE_HOME")
    if before is not None:
        os.environ["XDG_CACHE_HOME"] = before
    return took


def event_seconds() -> tuple[float, float]:
    """Return what an event costs where it happens, and where it is played at the step's end (CPU time)."""

    def make_and_drop(count: int = 20_000) -> float:
        start = time.process_time()
        for _ in range(count):
            torch.empty(100)
        return (time.process_time() - start) / (2 * count)

    harness, plains, recorded, played = Harness(nn.Identity()), [], [], []
    for _ in range(9):
        plains.append(make_and_drop())
        harness.start()
        recorded.append(make_and_drop())
        start = time.process_time()
        harness.capture.recorder.finish_step(None)
        played.append((time.process_time() - start) / 40_000)
        harness.capture.stop()
    return min(recorded) - min(plains), min(played)


def drain_seconds(loop: Loop) -> tuple[float, int]:
    """Return the median CPU time of `end_step` and the events it had."""
    with Harness(loop.model, loop.optimizer) as harness:
        took, events = [], 0
        for _ in range(20):
            loop.optimizer.zero_grad()
            loss = harness.forward(loop.tokens).square().mean()
            harness.backward(loss)
            harness.optimize()
            harness.program.refresh()
            start = time.process_time()
            harness.capture.end_step(harness.step)
            took.append(time.process_time() - start)
            events = harness.frames[-1].columns["t_ns"].shape[0]
    return statistics.median(took[2:]), events


def categories_seconds(loop: Loop) -> tuple[float, float]:
    """Return the seconds from the 10th step until the categories are there: ours, and the profiler's."""
    from tensorscope.core.wire import decode_parts, encode_parts
    from tensorscope.models.memory_model import MemoryModel
    from tensorscope.models.session_model import SessionModel

    with Harness(loop.model, loop.optimizer) as harness:
        for _ in range(10):
            loop.optimizer.zero_grad()
            logits = harness.forward(loop.tokens)
            harness.backward(nn.functional.cross_entropy(logits.flatten(0, 1), loop.tokens.flatten()))
            harness.optimize()
            harness.boundary()
        start, session = time.process_time(), SessionModel()
        strings, _ = harness.context.interner.frames_since(1)
        for frame in (*strings, *harness.frames):
            session.ingest(decode_parts(*encode_parts(frame)))
        model = MemoryModel(session.store)
        while model.update(1 << 20):
            pass
        assert model.mismatch_bytes == 0
        ours = time.process_time() - start
    options = {"profile_memory": True, "record_shapes": True, "with_stack": True}
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], **options) as profile:
        for _ in range(10):
            loop.step()
    start = time.process_time()
    profile._memory_profile()
    return ours, time.process_time() - start


def main(seconds: float) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    build = build_seconds()
    loop = Loop()
    for _ in range(3):
        loop.step()
    ways = {
        "native": recorder(),
        "totals": recorder(rows=False),
        "python": recorder(build=no_compiler),
        "profiler": profiler,
        "dispatch": dispatch,
    }
    if importlib.util.find_spec("torch.distributed._tools.mem_tracker"):
        ways["mem_tracker"] = mem_tracker
    found, plain_seconds = ratios(loop, ways, seconds)
    drain, events = drain_seconds(loop)
    recording, playing = event_seconds()
    say("allocator.plain_step", plain_seconds * 1e3, "ms")
    peer = {"peer": "torch.profiler(profile_memory=True)", "peer_value": round(found["profiler"], 4)}
    say("allocator.native_step_ratio", found["native"], "x plain", **peer)
    say("allocator.totals_step_ratio", found["totals"], "x plain", **peer)
    say("allocator.python_step_ratio", found["python"], "x plain", **peer)
    say("allocator.native_step_ratio", found["native"], "x plain", "empty dispatch mode", found["dispatch"])
    if "mem_tracker" in found:
        say(
            "allocator.native_step_ratio",
            found["native"],
            "x plain",
            "MemTracker",
            round(found["mem_tracker"], 4),
        )
    say("allocator.events_per_step", events, "events")
    say("allocator.record_event", recording * 1e9, "ns")
    say("allocator.play_event", playing * 1e9, "ns")
    say("allocator.end_step", drain * 1e3, "ms", "plain step", round(plain_seconds * 1e3, 4))
    say("allocator.build", build, "s")
    ours, theirs = categories_seconds(loop)
    say("allocator.categories_of_10_steps", ours, "s", "profiler's _memory_profile()", theirs)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
