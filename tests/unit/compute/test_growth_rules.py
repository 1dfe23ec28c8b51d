"""Growth is reported when it is proved, and only then."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorscope.compute.growth_rules import GrowthData, growth_findings
from tensorscope.compute.retention import AllocRows, alive_at_end, bytes_by_step, longest_tail
from tensorscope.core.schema import CATEGORIES

CATEGORY = {name: index for index, name in enumerate(CATEGORIES)}
KIB = 1024


class Recording:
    """Events of a made-up program; `keep` and `free` are what its steps do."""

    def __init__(self) -> None:
        self.events: list[tuple[int, int, int, int, int]] = []  # address delta step category module
        self.live_at_end: list[int] = []
        self.step = 0
        self.next_address = 64
        self.blocks: dict[int, tuple[int, int, int]] = {}

    def keep(self, size: int, category: str = "activation", module: int = 1) -> int:
        address = self.next_address
        self.next_address += size + 64
        self.blocks[address] = (size, CATEGORY[category], module)
        self.events.append((address, size, self.step, CATEGORY[category], module))
        return address

    def free(self, address: int) -> None:
        size, category, module = self.blocks.pop(address)
        self.events.append((address, -size, self.step, category, module))

    def end_step(self) -> None:
        self.live_at_end.append(sum(size for size, _, _ in self.blocks.values()))
        self.step += 1

    def data(self, saved: tuple[int, ...] = (), graph_step: int = 0) -> GrowthData:
        columns = list(zip(*self.events, strict=True)) or [()] * 5
        address, delta, step, category, module = columns
        rows = AllocRows(
            np.array(address, np.uint64), np.array(delta, np.int64), np.full(len(address), -1, np.int16),
            np.array(step, np.int32), np.array(category, np.uint8), np.array(module, np.uint32),
        )  # fmt: skip
        steps = np.arange(len(self.live_at_end), dtype=np.int64)
        names = {0: "", 1: "blocks.0", 2: "head"}
        live = np.array(self.live_at_end, np.int64)
        return GrowthData(rows, steps, live, np.array(saved, np.uint64), graph_step, names)


def train(recording: Recording, steps: int, extra) -> Recording:
    """Run `steps` ordinary steps, each with `extra`; activations die in backward, gradients a step later."""
    gradients: list[int] = []
    for step in range(steps):
        for address in gradients:
            recording.free(address)
        activations = [recording.keep(40 * KIB) for _ in range(3)]
        gradients = [recording.keep(10 * KIB, "gradient") for _ in range(2)]
        for address in activations:
            recording.free(address)
        if step == 1:
            recording.keep(500 * KIB, "optimizer_state")
        extra(step)
        recording.end_step()
    return recording


def codes(data: GrowthData) -> list[str]:
    return [finding.code for finding in growth_findings(data)]


def test_that_a_healthy_program_is_not_accused() -> None:
    recording = Recording()
    assert codes(train(recording, 60, lambda step: None).data()) == []


def test_that_nothing_is_said_of_an_empty_recording() -> None:
    assert codes(Recording().data()) == []


def test_that_blocks_kept_every_step_are_found_with_size_module_and_category() -> None:
    recording = Recording()
    train(
        recording,
        30,
        lambda step: (recording.keep(8 * KIB, "temporary", 2), recording.keep(2 * KIB, "input", 1)),
    )
    (finding,) = growth_findings(recording.data())
    assert (finding.code, finding.severity) == ("live-bytes-grow", "warning")
    assert finding.evidence["bytes_per_step"] == 10 * KIB
    assert finding.evidence["by_category_bytes"] == {"input": 25 * 2 * KIB, "temporary": 25 * 8 * KIB}
    assert finding.evidence["top_modules"][0] == {"module": "head", "bytes": 25 * 8 * KIB}
    assert (finding.evidence["first_step"], finding.evidence["last_step"]) == (3, 27)
    assert finding.where == {"view": "memory", "step": 27, "module": "head"}


def kept_graph(steps: int, cached_only: bool = False) -> GrowthData:
    recording = Recording()
    saved: list[int] = []

    def extra(step: int) -> None:
        mine = [recording.keep(16 * KIB), recording.keep(16 * KIB), recording.keep(4 * KIB, "input")]
        if step == 0:
            saved.extend(mine)
        if cached_only:
            for address in mine[1:]:
                recording.free(address)

    train(recording, steps, extra)
    return recording.data(tuple(saved))


def test_that_saved_tensors_that_outlive_their_step_prove_a_kept_graph() -> None:
    (finding,) = growth_findings(kept_graph(30))
    assert (finding.code, finding.severity) == ("graph-kept", "error")
    assert finding.evidence["bytes_per_step"] == 36 * KIB
    assert finding.evidence["saved_still_alive_bytes"] == 36 * KIB
    assert "36.0 KiB" in finding.title


def test_that_one_cached_result_of_many_is_growth_but_no_kept_graph() -> None:
    assert codes(kept_graph(30, cached_only=True)) == ["live-bytes-grow"]


def test_that_without_a_deep_step_growth_is_not_called_a_graph() -> None:
    recording = Recording()
    train(recording, 30, lambda step: recording.keep(16 * KIB))
    assert codes(recording.data()) == ["live-bytes-grow"]


def test_that_a_deep_step_that_has_just_ended_proves_nothing() -> None:
    recording = Recording()
    last: list[int] = []
    train(recording, 30, lambda step: last.append(recording.keep(16 * KIB)))
    assert codes(recording.data((last[-1],), graph_step=29)) == ["live-bytes-grow"]


@pytest.mark.parametrize("steps", range(13))
def test_that_few_steps_prove_nothing(steps: int) -> None:
    recording = Recording()
    train(recording, steps, lambda step: recording.keep(16 * KIB))
    assert codes(recording.data()) == []


def test_that_a_cache_that_has_filled_up_is_no_growth() -> None:
    recording = Recording()
    train(recording, 60, lambda step: recording.keep(64 * KIB, "unknown") if step < 40 else None)
    assert codes(recording.data()) == []


def test_that_a_queue_that_drops_its_oldest_is_no_growth() -> None:
    recording, queue = Recording(), deque[int]()

    def extra(step: int) -> None:
        queue.append(recording.keep(64 * KIB, "unknown"))
        if len(queue) > 12:
            recording.free(queue.popleft())

    assert codes(train(recording, 80, extra).data()) == []


def test_that_a_rising_high_water_mark_is_no_growth() -> None:
    recording = Recording()

    def extra(step: int) -> None:
        for address in [recording.keep((step + 1) * 100 * KIB) for _ in range(3)]:
            recording.free(address)

    assert codes(train(recording, 40, extra).data()) == []


def test_that_growth_in_jumps_is_not_called_growth_every_step() -> None:
    recording = Recording()
    train(recording, 60, lambda step: recording.keep(640 * KIB, "unknown") if step % 5 == 0 else None)
    assert codes(recording.data()) == []


def test_that_a_few_bytes_a_step_are_below_notice() -> None:
    recording = Recording()
    train(recording, 60, lambda step: recording.keep(64, "unknown"))
    assert codes(recording.data()) == []


events = st.lists(
    st.tuples(st.integers(1, 5), st.integers(-1, 1), st.booleans(), st.integers(1, 100), st.integers(0, 6)),
    max_size=60,
)


@settings(max_examples=400, deadline=None)
@given(events)
def test_that_retention_equals_a_plain_replay(found) -> None:
    steps = sorted(step for *_, step in found)
    live: dict[tuple[int, int], int] = {}
    rows = []
    for index, (address, device, is_alloc, size, _) in enumerate(found):
        rows.append((address, size if is_alloc else -size, device, steps[index]))
        live.pop((device, address), None)
        if is_alloc:
            live[device, address] = index
    columns = list(zip(*rows, strict=True)) or [()] * 4
    address, delta, device, step = columns
    alloc = AllocRows(
        np.array(address, np.uint64), np.array(delta, np.int64), np.array(device, np.int16),
        np.array(step, np.int32), np.zeros(len(rows), np.uint8), np.zeros(len(rows), np.uint32),
    )  # fmt: skip
    alive = alive_at_end(alloc)
    assert alive.tolist() == sorted(live.values())
    wanted = np.array([0, 2, 3, 9], np.int64)
    by_step = [sum(rows[i][1] for i in alive if rows[i][3] == step) for step in wanted]
    assert bytes_by_step(alloc, alive, wanted).tolist() == by_step


@given(st.lists(st.booleans(), max_size=20))
def test_that_the_longest_tail_is_counted_from_the_end(grew: list[bool]) -> None:
    count = 0
    for value in reversed(grew):
        if not value:
            break
        count += 1
    assert longest_tail(np.array(grew, bool)) == count
