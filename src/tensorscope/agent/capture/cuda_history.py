"""CUDA's caching allocator as it keeps its own history: segments, blocks and every event with its stack.

Recording is switched on only where the program has not done so itself, and off again at the end. It is pulled
rarely: at each deep step, and at the moment an allocation fails, before the exception unwinds. A snapshot
that is taken later looks like fragmentation, because by then most has been let go.
"""

from __future__ import annotations

import torch

from tensorscope.agent.capture.capture import Capture
from tensorscope.agent.capture.snapshot_columns import SnapshotColumns
from tensorscope.agent.context import Context

MAX_EVENTS = 200_000
"""Of torch's ring buffer; at about 100 bytes each."""


class CudaHistoryCapture(Capture):
    """Emits ``stacks``, ``trace`` and ``segments``; nothing where the program does not use CUDA."""

    name = "cuda_history"
    _observed = False
    """An observer cannot be taken back: one a process, which asks who listens now."""
    _listening: CudaHistoryCapture | None = None

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._columns = SnapshotColumns(context)
        self._ours = False
        self._told = False

    def start(self) -> None:
        """Record from now on, if CUDA is in use already."""
        CudaHistoryCapture._listening = self
        self._begin()

    def stop(self) -> None:
        """Leave the allocator as it was."""
        if CudaHistoryCapture._listening is self:
            CudaHistoryCapture._listening = None
        if self._ours:
            self._ours = False
            torch.cuda.memory._record_memory_history(None)

    def begin_step(self, step: int) -> None:
        """Record from now on, if CUDA came into use meanwhile."""
        self._begin()

    def end_step(self, step: int) -> None:
        """Pull what happened, where this step is a deep one."""
        if self.context.deep is not None:
            self.pull("poll")

    def _begin(self) -> None:
        if self._told or not torch.cuda.is_initialized() or not torch.cuda.is_available():
            return
        self._told = True
        if not _is_recording():
            torch.cuda.memory._record_memory_history("all", stacks="python", max_entries=MAX_EVENTS)
            self._ours = True
        if not CudaHistoryCapture._observed:
            CudaHistoryCapture._observed = True
            torch._C._cuda_attach_out_of_memory_observer(_out_of_memory)

    def pull(self, reason: str) -> None:
        """Send the events since the last pull, and what is held now. `reason`: see the schema."""
        if not torch.cuda.is_initialized() or not torch.cuda.is_available():
            return
        snapshot = torch.cuda.memory._snapshot()
        for frame in self._columns.frames(snapshot, reason, self.context.step):
            self.context.emit(frame)

    def out_of_memory(self, device: int, size_bytes: int, total_bytes: int, free_bytes: int) -> None:
        """Keep the state of the moment. Any thread, with the allocator's lock free again."""
        self.pull("oom")
        text = (
            f"An allocation of {size_bytes:,} bytes failed on CUDA device {device} ({free_bytes:,} of "
            f"{total_bytes:,} bytes were free). The allocator's state of that moment is in the session."
        )
        self.context.notice("error", "out-of-memory", text)


def _is_recording() -> bool:
    """Return whether the program records the allocator's history itself."""
    asked = getattr(torch._C, "_cuda_isHistoryEnabled", None)
    return bool(asked()) if asked is not None else False


def _out_of_memory(device: int, size_bytes: int, total_bytes: int, free_bytes: int) -> None:
    listening = CudaHistoryCapture._listening
    if listening is None:
        return
    try:
        listening.out_of_memory(device, size_bytes, total_bytes, free_bytes)
    except Exception as error:  # noqa: BLE001  (the program must see its own exception, not ours)
        text = f"The allocator's state at the failure could not be kept: {type(error).__name__}: {error}"
        listening.context.notice("warning", "out-of-memory", text)
