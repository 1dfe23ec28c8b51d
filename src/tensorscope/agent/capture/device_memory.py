"""The caching allocator's own counts at every phase boundary, beside what the driver says."""

from __future__ import annotations

import time
from typing import Any

import torch

from tensorscope.agent.capture.backward_call import BackwardCall
from tensorscope.agent.capture.capture import Capture
from tensorscope.agent.context import Context, column
from tensorscope.agent.nvml import UNKNOWN, Nvml
from tensorscope.core.schema import PHASES, STREAM_COLUMNS
from tensorscope.core.wire import Frame

_NAMES = tuple(STREAM_COLUMNS["device_memory"])


class DeviceMemoryCapture(Capture):
    """Emits the ``device_memory`` stream; nothing at all where the program does not use CUDA.

    A row costs some 100 us of the training thread, and there are three a step and device. The driver
    is asked once a step: its call takes longer, and its numbers move in segments.
    """

    name = "device_memory"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._rows: list[tuple[int, ...]] = []
        self._nvml: Nvml | None = None
        self._uuids: dict[int, str] = {}

    def stop(self) -> None:
        """Let go of NVML."""
        nvml, self._nvml = self._nvml, None
        if nvml is not None:
            nvml.close()

    def after_forward(self, module: Any, output: Any) -> None:
        """Count at the end of a forward."""
        self._count("forward")

    def after_backward(self, call: BackwardCall, error: BaseException | None) -> None:
        """Count at the end of a backward."""
        self._count("backward")

    def end_step(self, step: int) -> None:
        """Count at the end of the step, with the driver's numbers, and emit all of it."""
        self._count("optimizer", with_driver=True)
        rows, self._rows = self._rows, []
        if rows:
            dtypes = STREAM_COLUMNS["device_memory"]
            values = dict(zip(_NAMES, zip(*rows, strict=True), strict=True))
            columns = {name: column(dtype, values[name]) for name, dtype in dtypes.items()}
            self.context.emit(Frame("device_memory", step, time.perf_counter_ns(), columns=columns))

    def _count(self, phase: str, with_driver: bool = False) -> None:
        if not torch.cuda.is_initialized() or not torch.cuda.is_available():
            return
        now, number = time.perf_counter_ns(), PHASES.index(phase)
        for device in range(torch.cuda.device_count()):
            stats = torch.cuda.memory_stats(device)
            if not stats.get("reserved_bytes.all.peak") and not stats.get("num_ooms"):
                continue  # never used by this program: to ask the driver would make a context there
            used, process = self._driver(device) if with_driver else (UNKNOWN, UNKNOWN)
            self._rows.append(
                (
                    now, self.context.step, number, device, stats.get("allocated_bytes.all.current", 0),
                    stats.get("reserved_bytes.all.current", 0), stats.get("active_bytes.all.current", 0),
                    stats.get("inactive_split_bytes.all.current", 0), stats.get("num_alloc_retries", 0),
                    stats.get("num_ooms", 0), used, process,
                )
            )  # fmt: skip

    def _driver(self, device: int) -> tuple[int, int]:
        free, total = torch.cuda.mem_get_info(device)
        if self._nvml is None:
            self._nvml = Nvml()
            if self._nvml.problem:
                self.context.notice("info", "nvml", self._nvml.problem)
        uuid = self._uuids.get(device)
        if uuid is None:
            text = str(getattr(torch.cuda.get_device_properties(device), "uuid", ""))
            uuid = self._uuids[device] = text if not text or text.startswith("GPU-") else f"GPU-{text}"
        return int(total - free), self._nvml.process_bytes(uuid)
