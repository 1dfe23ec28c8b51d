"""The allocator's state at every event, against the allocator that made the trace."""

import numpy as np
import pytest

from tensorscope.models.allocator_history import AllocatorHistory
from tensorscope.models.allocator_state import allocator_state, domains, fragmentation
from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.session_model import SessionModel
from tensorscope.readers.documents import read_document
from tensorscope.readers.frames import frames_of
from tests.support.random_snapshots import ToyAllocator
from tests.support.sessions import fed


def history_of(document):
    session = fed(SessionModel(), list(frames_of(read_document(document), "a")))
    assert session.problems == []
    return AllocatorHistory(FrozenStore(session.store))


def seen(history, state):
    """Return {(device, address): (size, requested, state)} of blocks and free ranges, as the toy keeps it."""
    b, s = history.blocks, history.segments
    found = {}
    for block, pending in zip(state.blocks.tolist(), state.pending.tolist(), strict=True):
        name = "active_pending_free" if pending else "active_allocated"
        found[int(b.device[block]), int(b.address[block])] = (
            int(b.bytes[block]), int(b.requested_bytes[block]), name,
        )  # fmt: skip
    for segment, address, size in zip(state.free_segment, state.free_address, state.free_bytes, strict=True):
        device = int(s.device[state.segments[segment]])
        found[device, int(address)] = (int(size), 0, "inactive")
    return found


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_that_the_state_after_every_event_is_the_allocators_own(seed, devices):
    toy = ToyAllocator(seed, devices=devices, streams=2, pools=2).run(250)
    history = history_of(toy.snapshot())
    for event in range(len(toy.states)):
        state = allocator_state(history, event)
        assert seen(history, state) == toy.states[event], event


@pytest.mark.parametrize("first", [40, 120])
@pytest.mark.parametrize("seed", range(4))
def test_that_bytes_are_conserved_at_every_event_of_a_cut_trace(seed, first):
    history = history_of(ToyAllocator(seed, streams=3).run(250).snapshot(first=first))
    for event in range(-1, history.events):
        state = allocator_state(history, event)
        assert (state.block_segment >= 0).all()
        assert state.used_bytes + int(state.free_bytes.sum()) == state.reserved_bytes
        assert state.pending_bytes <= state.used_bytes <= state.reserved_bytes
        assert state.requested_bytes <= state.used_bytes
        assert state.releasable_bytes + state.pinned_bytes <= state.idle_bytes


def test_that_domains_add_up_to_the_state():
    history = history_of(ToyAllocator(3, devices=2, streams=2, pools=2).run(300).snapshot())
    for event in range(-1, history.events, 17):
        state = allocator_state(history, event)
        parts = domains(history, state)
        assert sum(part.reserved_bytes for part in parts) == state.reserved_bytes
        assert sum(part.used_bytes for part in parts) == state.used_bytes
        assert sum(part.free_bytes for part in parts) == state.idle_bytes
        assert max((part.largest_free_bytes for part in parts), default=0) == state.largest_free_bytes


def test_that_one_device_has_its_own_state():
    history = history_of(ToyAllocator(3, devices=2).run(300).snapshot())
    event = history.events - 1
    one, other, both = (allocator_state(history, event, device) for device in (0, 1, None))
    assert one.reserved_bytes + other.reserved_bytes == both.reserved_bytes
    assert one.used_bytes + other.used_bytes == both.used_bytes


def test_that_mapped_ranges_of_expandable_segments_come_and_go():
    page, base = 2 << 20, 0x7F00_0000_0000
    events = [
        {"action": "segment_map", "addr": base, "size": page, "stream": 0, "time_us": 1},
        {"action": "alloc", "addr": base, "size": page, "stream": 0, "time_us": 2},
        {"action": "segment_map", "addr": base + page, "size": 2 * page, "stream": 0, "time_us": 3},
        {"action": "segment_unmap", "addr": base + 2 * page, "size": page, "stream": 0, "time_us": 4},
    ]
    blocks = [
        {"address": base, "size": page, "requested_size": page, "state": "active_allocated", "frames": []},
        {"address": base + page, "size": page, "requested_size": 0, "state": "inactive", "frames": []},
    ]
    segment = {
        "device": 0, "address": base, "total_size": 2 * page, "stream": 0, "segment_type": "large",
        "is_expandable": True, "segment_pool_id": (0, 0), "frames": [], "blocks": blocks,
    }  # fmt: skip
    history = history_of({"segments": [segment], "device_traces": [events]})
    reserved = [allocator_state(history, event).reserved_bytes // page for event in range(-1, 4)]
    assert reserved == [0, 1, 1, 3, 2]


def test_that_a_file_with_only_its_final_state_shows_that():
    toy = ToyAllocator(2).run(200)
    document = toy.snapshot()
    document["device_traces"] = [[]]
    history = history_of(document)
    assert history.notes == ("no_trace",)
    state = allocator_state(history, -1)
    assert state.reserved_bytes == sum(segment.size for segment in toy.segments)
    assert state.requested_bytes == toy.live_bytes[-1]


def test_that_fragmentation_is_exact_where_it_is_sampled():
    history = history_of(ToyAllocator(6).run(300).snapshot())
    found = fragmentation(history, 25)
    assert found.event[0] == -1
    assert found.event[-1] == history.events - 1
    for at, event in enumerate(found.event.tolist()):
        state = allocator_state(history, event)
        assert found.largest_free_bytes[at] == state.largest_free_bytes
        assert found.idle_bytes[at] == state.reserved_bytes - state.used_bytes
    assert (np.diff(found.t_ns) >= 0).all()
