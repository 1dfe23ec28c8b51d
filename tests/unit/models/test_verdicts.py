"""Every verdict on a trace made for it, and silence on one that only looks like it."""

import pytest

from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.session_model import SessionModel
from tensorscope.models.verdicts import find_verdicts, rounded_request
from tensorscope.readers.documents import read_document
from tensorscope.readers.frames import frames_of
from tests.support.random_snapshots import MIB, ToyAllocator
from tests.support.sessions import fed


def verdicts_of(toy, total_bytes=-1):
    frames = list(frames_of(read_document(toy.snapshot()), "a"))
    for frame in frames:
        if frame.kind == "source":
            frame.meta["devices"][0]["total_bytes"] = total_bytes
    session = fed(SessionModel(), frames)
    assert session.problems == []
    return find_verdicts(FrozenStore(session.store))


def codes(*arguments, **options):
    return [verdict.code for verdict in verdicts_of(*arguments, **options)]


def filled(count, size=30 * MIB, streams=1):
    toy = ToyAllocator(0, streams=streams)
    for _ in range(count):
        toy.allocate(size, stream=0, pool=(0, 0))
    return toy


def test_that_a_device_that_is_full_of_live_blocks_is_capacity():
    toy = filled(10)
    toy.out_of_memory(40 * MIB, device_free=5 * MIB)
    verdict = verdicts_of(toy)[0]
    assert verdict.code == "capacity"
    assert verdict.evidence["used_bytes"] == 300 * MIB
    assert sum(holder.bytes for holder in verdict.holders) == 300 * MIB
    assert not verdict.unwound


def test_that_the_state_is_that_of_the_failure_and_not_of_the_end():
    toy = filled(10)
    toy.out_of_memory(40 * MIB, device_free=5 * MIB)
    event = len(toy.order) - 1
    while toy._used:
        toy.free(0)
    verdict = next(v for v in verdicts_of(toy) if v.code == "capacity")
    assert verdict.unwound
    assert verdict.event == event
    assert verdict.evidence["used_bytes"] == 300 * MIB


def test_that_free_ranges_that_are_each_too_small_are_fragmentation():
    toy = filled(10)
    for index in range(5):
        toy.free(index)  # every other one
    toy.out_of_memory(100 * MIB, device_free=0)
    verdict = verdicts_of(toy)[0]
    assert verdict.code == "fragmentation"
    assert verdict.evidence["idle_bytes"] == 150 * MIB
    assert verdict.evidence["largest_free_own_bytes"] == 30 * MIB


def test_that_memory_that_another_stream_hoards_is_named():
    toy = ToyAllocator(0, streams=2)
    toy.allocate(100 * MIB, stream=7001, pool=(0, 0))
    toy.free(0)
    toy.allocate(30 * MIB, stream=0, pool=(0, 0))
    toy.out_of_memory(60 * MIB, device_free=0, stream=0)
    verdict = verdicts_of(toy)[0]
    assert verdict.code == "wrong-domain"
    assert verdict.places == ("stream 1",)


def test_that_a_private_pool_that_hoards_is_named():
    toy = ToyAllocator(0)
    toy.allocate(100 * MIB, stream=0, pool=(0, 1))
    toy.free(0)
    toy.allocate(30 * MIB, stream=0, pool=(0, 0))
    toy.out_of_memory(60 * MIB, device_free=0)
    verdict = verdicts_of(toy)[0]
    assert (verdict.code, verdict.places) == ("private-pool", ("(0, 1)",))


def test_that_blocks_that_wait_for_another_stream_are_pending_frees():
    toy = filled(4)
    for _ in range(3):
        toy.free(0, late=True)
    toy.out_of_memory(60 * MIB, device_free=0)
    found = {verdict.code: verdict for verdict in verdicts_of(toy)}
    assert found["pending-frees"].evidence["pending_bytes"] == 90 * MIB
    assert found["cross-stream-hold"].evidence["peak_held_bytes"] == 90 * MIB


def test_that_memory_of_others_is_outside():
    toy = filled(2)
    toy.out_of_memory(100 * MIB, device_free=10 * MIB)
    assert codes(toy, total_bytes=400 * MIB)[0] == "outside-pytorch"
    assert codes(toy, total_bytes=70 * MIB)[0] == "capacity"
    assert codes(toy)[0] == "capacity"  # nobody said how large the device is


def test_that_giving_back_and_taking_again_is_thrash():
    toy = ToyAllocator(0)
    for _ in range(12):
        toy.allocate(30 * MIB, stream=0, pool=(0, 0))
        toy.free(0)
        toy.release_free_segments()
    verdict = next(v for v in verdicts_of(toy) if v.code == "retry-thrash")
    assert verdict.evidence["cycles"] == 11
    assert verdict.evidence["given_back_bytes"] == 12 * 30 * MIB
    few = ToyAllocator(0)
    for _ in range(4):
        few.allocate(30 * MIB, stream=0, pool=(0, 0))
        few.free(0)
        few.release_free_segments()
    assert "retry-thrash" not in codes(few)


def test_that_a_large_idle_cache_is_said_with_what_could_be_released():
    toy = filled(12, 30 * MIB)
    while toy._used:
        toy.free(0)
    verdict = next(v for v in verdicts_of(toy) if v.code == "idle-cache")
    assert verdict.evidence["releasable_bytes"] == verdict.evidence["reserved_bytes"] == 360 * MIB
    assert "idle-cache" not in codes(filled(12))


@pytest.mark.parametrize("seed", range(6))
def test_that_a_healthy_trace_has_no_error(seed):
    found = verdicts_of(ToyAllocator(seed, streams=2).run(300))
    assert all(verdict.severity != "error" for verdict in found)


def test_that_a_session_without_cuda_has_no_verdict():
    assert find_verdicts(FrozenStore(SessionModel().store)) == ()


@pytest.mark.parametrize(
    ("size", "rounded"),
    [(1, 2 * MIB), (MIB, 2 * MIB), (MIB + 1, 20 * MIB), (10 * MIB, 10 * MIB), (21 * MIB, 22 * MIB)],
)
def test_that_requests_are_rounded_as_torch_rounds_them(size, rounded):
    assert rounded_request(size) == rounded
