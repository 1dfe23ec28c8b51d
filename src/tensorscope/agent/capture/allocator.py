"""Every allocation and free of a step, each with its category; totals that add up at every event."""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

from tensorscope.agent.capture.allocator_native import NativeRecorder
from tensorscope.agent.capture.allocator_python import PythonRecorder
from tensorscope.agent.capture.backward_call import BackwardCall
from tensorscope.agent.capture.capture import Capture
from tensorscope.agent.capture.cuda_blocks import add_cuda_blocks
from tensorscope.agent.capture.labels import Labels, storage_of
from tensorscope.agent.capture.ledger import Rows
from tensorscope.agent.capture.profiler_guard import ProfilerGuard
from tensorscope.agent.capture.recorder_build import (
    RecorderBuild,
    RecorderUnavailableError,
    build_library,
)
from tensorscope.agent.context import Context, column
from tensorscope.core.schema import RECORD_COLUMNS, STREAM_COLUMNS
from tensorscope.core.wire import Frame

INFERRED = "(inferred)"
"""Module name of events that nobody reported but that must have happened."""
_MAX_INPUTS = 4096
LATE = (
    "Attached while the program ran: memory of the CPU from before that no parameter, gradient, buffer or "
    "optimizer state lies in is in no total. The process memory (RSS) holds it."
)


Recorder = NativeRecorder | PythonRecorder


class AllocatorCapture(Capture):
    """Emits ``baseline`` records and the ``alloc`` stream; gives the step's memory totals.

    Parameters
    ----------
    rows
        Whether to emit each event (scope level) or only to keep totals (pulse level). May be changed at
        a step boundary through `set_rows`.
    wait
        Whether `start` may compile the native recorder and wait for it (before the user's code runs).
        Otherwise a thread compiles it, and recording begins at the first step boundary after that.
    build
        Gives the library's path, or raises `RecorderUnavailableError`.
    """

    name = "allocator"

    def __init__(
        self,
        context: Context,
        *,
        rows: bool = True,
        wait: bool = False,
        build: Callable[[], Path] = build_library,
    ) -> None:
        super().__init__(context)
        self.recorder: Recorder | None = None
        self._rows = rows
        self._wait = wait
        self._build = RecorderBuild(build)
        self._guard = ProfilerGuard(self._step_aside)
        self._thread = 0
        self._recording = False
        self._aside = False
        self._lost_rows = 0
        self._oom_count = 0

    @property
    def recorder_kind(self) -> str:
        """``native``, ``python`` or ``none``, for hello."""
        return self.recorder.kind if self.recorder else "none"

    @property
    def recorder_note(self) -> str:
        """What the recorder in use cannot see and why it is in use, for hello."""
        if self.recorder is None:
            return "The memory recorder is being built." if self._build.running else ""
        late = "" if self._wait else LATE
        return " ".join(filter(None, (self.recorder.note, late)))

    def start(self) -> None:
        """Begin to record, now or as soon as the recorder is built."""
        self._thread = threading.get_ident()
        self._guard.install()
        self._build.begin(self._wait)
        self.context.memory_totals = self._totals
        self._record("start")

    def stop(self) -> None:
        """Leave every slot that is ours.

        From another thread than the one that is recorded this cannot be done: the recorder then falls
        silent, and leaves its slot when that thread starts a profiler or ends.
        """
        self.context.memory_totals = None
        recorder, recording = self.recorder, self._recording
        if recorder is not None:
            self._report_out_of_memory()
            self.recorder, self._recording = None, False
            if recording and not (threading.get_ident() == self._thread and recorder.pop()):
                recorder.enable(False)
                self._guard.step_aside = partial(self._close_late, recorder)
                return
            recorder.close()
        self._guard.remove()

    def set_rows(self, on: bool) -> None:
        """Emit each event from now on, or only keep totals. At a step boundary."""
        if on and not self._rows:
            self._rows = True
            self.resync()
        self._rows = on

    def resync(self) -> None:
        """Send every live block anew, for a client that is new or has missed events. At a boundary."""
        if self.recorder is not None and self._recording and self._rows:
            self._emit_baseline("resync", self._labels())

    def begin_step(self, step: int) -> None:
        """Begin, or begin again, where recording could not go on before."""
        if self.recorder is not None and self.recorder.kind == "none":
            self._step_aside()
        if self._recording and self.recorder is not None and self.recorder.is_pushed():
            return
        self._record("resync" if self._recording or self._aside else "start")

    def end_step(self, step: int) -> None:
        """Settle the step's categories and emit its events."""
        if self.recorder is None or not self._recording:
            return
        self._report_out_of_memory()
        if not self._rows:
            self.recorder.finish_step(None)
            return
        labels = self._labels()
        rows = self.recorder.finish_step(labels)
        if rows is None:
            self._report_lost_rows()
            self._emit_baseline("resync", labels)
        elif rows["t_ns"]:
            self._emit_rows(step, rows)

    def before_forward(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Remember which blocks the inputs lie in."""
        if self.recorder is None or not self._recording:
            return
        self._visit_thread()
        self.recorder.mark_forward(True)
        for tensor in _tensors((args, kwargs)):
            storage = storage_of(tensor)
            if storage is not None:
                self.recorder.mark_input(storage.data_ptr())

    def after_forward(self, module: Any, output: Any) -> None:
        """What is made from here on may be another root's input."""
        if self.recorder is not None and self._recording:
            self.recorder.mark_forward(False)
        self._leave_thread()

    def before_backward(self, call: BackwardCall) -> None:
        """What forward made and is alive now is kept for this."""
        if self.recorder is not None and self._recording:
            self._visit_thread()
            self.recorder.mark_backward()

    def after_backward(self, call: BackwardCall, error: BaseException | None) -> None:
        """Leave a thread that is not ours."""
        self._leave_thread()

    def _close_late(self, recorder: Recorder) -> None:
        if recorder.is_pushed():
            recorder.close()
            self._guard.remove()

    def _visit_thread(self) -> None:
        if threading.get_ident() != self._thread and self.recorder is not None:
            self.recorder.push()

    def _leave_thread(self) -> None:
        if threading.get_ident() != self._thread and self.recorder is not None:
            self.recorder.pop()

    def _record(self, reason: str) -> None:
        """Begin to record with a baseline, if there is a recorder and nobody else is in its place."""
        if self.recorder is None:
            self.recorder = self._make_recorder()
        if self.recorder is None:
            return
        self._recording = self.recorder.push()
        if not self._recording:
            self._say_aside()
            return
        self._thread = threading.get_ident()
        labels = self._labels()
        if self.recorder.kind == "native":
            add_cuda_blocks(labels)
        self.recorder.reset(labels)
        if self._rows:
            self._emit_baseline(reason, labels)
        if self._aside:
            self._aside = False
            self.context.notice("info", "allocator-resumed", "Memory is recorded again.")

    def _make_recorder(self) -> Recorder | None:
        if self._build.running:
            return None
        inferred = self.context.string(INFERRED)
        problem = self._build.problem
        if self._build.library is not None:
            try:
                return NativeRecorder(self._build.library, self.context.scope, inferred)
            except RecorderUnavailableError as error:
                problem = str(error)
        recorder = PythonRecorder(self.context.scope, inferred, problem)
        self.context.notice("warning", "allocator-fallback", recorder.note)
        return recorder

    def _step_aside(self) -> None:
        if self.recorder is None or not self._recording or not self.recorder.is_pushed():
            return
        if self.recorder.pop():
            self.recorder.enable(False)
            self._recording = False
            self._say_aside()

    def _say_aside(self) -> None:
        if self._aside or self.recorder is None:
            return
        self._aside = True
        text = "Memory is not recorded while the program's own profiler runs: torch allows one at a time."
        if self.recorder.kind == "none":
            text = self.recorder.note
        self.context.notice("info", "allocator-aside", text)

    def _labels(self) -> Labels:
        return Labels(self.context.program.named_tensors())

    def _totals(self) -> tuple[int, int]:
        if self.recorder is None or not self._recording:
            return -1, -1
        return self.recorder.totals()

    def _emit_rows(self, step: int, rows: Rows) -> None:
        steps = array("i", [step]) * len(rows["t_ns"])
        values = {**rows, "step": steps}
        columns = _columns(STREAM_COLUMNS["alloc"], values)
        self.context.emit(Frame("alloc", step, time.perf_counter_ns(), columns=columns))

    def _emit_baseline(self, reason: str, labels: Labels) -> None:
        assert self.recorder is not None
        blocks = self.recorder.list_blocks(labels)
        string, names = self.context.string, labels.names()
        ids = array("I", [string(names.get(address, "")) for address in blocks["address"]])
        values = {**blocks, "name": ids}
        columns = _columns(RECORD_COLUMNS["baseline"], values)
        clock = time.perf_counter_ns()
        self.context.emit(
            Frame("baseline", self.context.step, clock, meta={"reason": reason}, columns=columns)
        )

    def _report_lost_rows(self) -> None:
        assert self.recorder is not None
        lost = self.recorder.lost_rows - self._lost_rows
        self._lost_rows += lost
        text = f"{lost:,} allocations of one step were too many to record one by one; totals are exact."
        self.context.notice("warning", "allocator-overflow", text)

    def _report_out_of_memory(self) -> None:
        assert self.recorder is not None
        count, size_bytes, device = self.recorder.out_of_memory()
        if count > self._oom_count:
            self._oom_count = count
            where = "the CPU" if device < 0 else f"CUDA device {device}"
            live, _ = self.recorder.totals()
            text = f"An allocation of {size_bytes:,} bytes failed on {where} ({live:,} bytes were live)."
            self.context.notice("error", "out-of-memory", text)


def _columns(dtypes: dict[str, str], values: dict[str, Any]) -> dict[str, Any]:
    """Return `values` as columns; the optional ones that nobody filled are left out."""
    return {name: column(dtype, values[name]) for name, dtype in dtypes.items() if name in values}


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors in nested tuples, lists and mappings, at most a few thousand values deep."""
    pending, seen = [value], 0
    while pending and seen < _MAX_INPUTS:
        seen += 1
        item = pending.pop()
        if isinstance(item, torch.Tensor):
            yield item
        elif isinstance(item, (tuple, list)):
            pending.extend(item[:_MAX_INPUTS])
        elif isinstance(item, dict):
            pending.extend(item.values())
