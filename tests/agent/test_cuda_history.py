"""The allocator's own history as frames, with a stand-in that gives the same dictionaries as torch."""

import pytest
import torch

from tensorscope.agent.capture import cuda_history
from tensorscope.agent.capture.backward_call import BackwardCall
from tensorscope.agent.capture.cuda_history import CudaHistoryCapture
from tensorscope.agent.capture.device_memory import DeviceMemoryCapture
from tensorscope.agent.nvml import UNKNOWN, Nvml
from tensorscope.core.wire import decode_parts, encode_parts
from tensorscope.models.allocator_history import AllocatorHistory
from tensorscope.models.allocator_state import allocator_state
from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.session_model import SessionModel
from tensorscope.models.verdicts import find_verdicts
from tests.agent.deep_harness import Harness
from tests.support.random_snapshots import ToyAllocator


class Device:
    """What the captures call, with a toy allocator behind it."""

    def __init__(self, toy, monkeypatch):
        self.toy, self.recording, self.observers = toy, [], []
        self.stats = {"reserved_bytes.all.peak": 1, "allocated_bytes.all.current": 70,
                      "reserved_bytes.all.current": 100, "num_ooms": 2}  # fmt: skip
        patches = {
            "is_available": lambda: True, "is_initialized": lambda: True, "device_count": lambda: 1,
            "memory_stats": lambda device: self.stats, "mem_get_info": lambda device: (30, 200),
            "get_device_properties": lambda device: type("P", (), {"uuid": "x"})(),
        }  # fmt: skip
        for name, value in patches.items():
            monkeypatch.setattr(torch.cuda, name, value)
        monkeypatch.setattr(torch.cuda.memory, "_record_memory_history", self.record)
        monkeypatch.setattr(torch.cuda.memory, "_snapshot", lambda: self.toy.snapshot())
        attach = "_cuda_attach_out_of_memory_observer"
        monkeypatch.setattr(torch._C, attach, self.observers.append, raising=False)
        monkeypatch.setattr(CudaHistoryCapture, "_observed", False)
        monkeypatch.setattr(CudaHistoryCapture, "_listening", None)

    def record(self, enabled, **options):
        self.recording.append(enabled)


@pytest.fixture
def device(monkeypatch):
    return Device(ToyAllocator(3, streams=2, pools=2).run(120), monkeypatch)


def store_of(harness):
    """Return what a window makes of the frames, over the wire."""
    session = SessionModel()
    strings, _ = harness.context.interner.frames_since(1)
    for frame in (*strings, *harness.frames):
        session.ingest(decode_parts(*encode_parts(frame)))
    assert session.problems == []
    return session.store


def test_that_each_event_is_sent_once_however_often_it_is_pulled(device):
    harness = Harness(kinds=(CudaHistoryCapture,))
    (capture,) = harness.captures
    capture.start()
    for count in (120, 180, 180, 260):
        device.toy.run(count)
        capture.pull("poll")
    store = store_of(harness)
    sent = [store.string(int(one)) for one in store.tables["trace"]["action"]]
    assert sent == [event["action"] for event in device.toy.traces[0]]
    assert store.tables["trace"]["size_bytes"].tolist() == [event["size"] for event in device.toy.traces[0]]
    assert len(store.records("segments")) == 4


def test_that_the_state_of_a_live_program_is_the_allocators_own(device):
    harness = Harness(kinds=(CudaHistoryCapture,))
    harness.captures[0].start()
    harness.captures[0].pull("poll")
    history = AllocatorHistory(FrozenStore(store_of(harness)))
    for event in range(0, history.events, 7):
        state = allocator_state(history, event)
        expected = device.toy.states[event]
        used = sum(size for size, _, kind in expected.values() if kind != "inactive")
        assert (state.used_bytes, state.reserved_bytes) == (used, sum(s for s, _, _ in expected.values()))
    stacks = [history.store.stacks.frames_of(int(stack)) for stack in history.blocks.stack]
    assert any(len(frames) for frames in stacks)


def test_that_a_failure_keeps_the_state_of_its_moment(device):
    harness = Harness(kinds=(CudaHistoryCapture,))
    harness.captures[0].start()
    device.toy.out_of_memory(1 << 34, device_free=1 << 20)
    (observer,) = device.observers
    observer(0, 1 << 34, 1 << 35, 1 << 20)
    store = store_of(harness)
    assert store.records("segments")[-1].meta["reason"] == "oom"
    assert "out-of-memory" in [record.meta["code"] for record in store.records("notice")]
    assert find_verdicts(FrozenStore(store))[0].code == "capacity"


def test_that_recording_is_left_as_it_was(device, monkeypatch):
    capture = Harness(kinds=(CudaHistoryCapture,)).captures[0]
    capture.start()
    capture.stop()
    assert device.recording == ["all", None]
    device.recording.clear()
    monkeypatch.setattr(cuda_history, "_is_recording", lambda: True)
    other = Harness(kinds=(CudaHistoryCapture,)).captures[0]
    other.start()
    other.stop()
    assert device.recording == []  # the program's own, which is none of our business
    assert len(device.observers) == 1
    device.observers[0](0, 1, 2, 3)  # nobody listens any more


def test_that_a_failing_snapshot_never_reaches_the_program(device, monkeypatch):
    harness = Harness(kinds=(CudaHistoryCapture,))
    harness.captures[0].start()
    monkeypatch.setattr(torch.cuda.memory, "_snapshot", lambda: 1 / 0)
    device.observers[0](0, 1, 2, 3)
    assert [frame.meta["severity"] for frame in harness.frames] == ["warning"]


def test_that_counts_of_phases_and_of_the_driver_arrive(device):
    harness = Harness(kinds=(DeviceMemoryCapture,))
    (capture,) = harness.captures
    capture.after_forward(None, None)
    capture.after_backward(BackwardCall(()), None)
    capture.end_step(0)
    table = store_of(harness).tables["device_memory"]
    assert table["phase"].tolist() == [1, 2, 3]
    assert table["allocated_bytes"].tolist() == [70] * 3
    assert table["used_bytes"].tolist() == [-1, -1, 170]
    assert table["ooms"].tolist() == [2] * 3
    capture.stop()


def test_that_a_program_without_cuda_costs_nothing():
    if torch.cuda.is_available():
        pytest.skip("there is a device")
    harness = Harness(kinds=(DeviceMemoryCapture, CudaHistoryCapture))
    harness.begin()
    harness.end()
    assert harness.frames == []


def test_that_a_machine_without_nvml_says_so():
    nvml = Nvml()
    if not nvml.problem:
        pytest.skip("NVML is here")
    assert nvml.process_bytes("GPU-1") == UNKNOWN
    assert "NVML" in nvml.problem
    nvml.close()
