"""Where the time of each step goes: the ``phase`` and ``step`` streams."""

from __future__ import annotations

import os
import struct
from array import array
from time import perf_counter_ns
from typing import Any

from tensorscope.agent.capture.capture import Capture
from tensorscope.agent.context import Context, column
from tensorscope.core.schema import PHASES, STREAM_COLUMNS
from tensorscope.core.wire import ARRAY_CODES, Column, Frame

OTHER, FORWARD, BACKWARD, OPTIMIZER = range(len(PHASES))
_FLUSH_ROWS = 4096
_NAN = float("nan")
_PACKERS = [
    (name, dtype, struct.Struct(ARRAY_CODES[dtype]).pack) for name, dtype in STREAM_COLUMNS["step"].items()
]


class StepsCapture(Capture):
    """Follows the phases and emits one ``step`` row per step.

    *Forward* begins when a root module is called with gradients on and lasts until backward or the
    optimizer begins, so that it holds the loss; a root called with gradients off (validation) is
    *other*. *Backward* is the autograd engine, checkpointed forwards within it included. *Optimizer*
    is `Optimizer.step`; the closure that LBFGS runs inside it counts as forward and backward.
    `loss` is the value of the last backward's root where that is one number on the CPU; on another
    device it is read once in `LOSS_EVERY` steps, because reading it makes the device wait.
    """

    name = "steps"
    LOSS_EVERY = 10

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.agent_ns = 0
        """What our own code took of the training thread in this step."""
        self.level = 0
        self._phase_rows = array("q")
        self._spent_ns = [0] * len(PHASES)
        self._since_ns = perf_counter_ns()
        self.start_ns = self._since_ns
        """When the step that runs now began."""
        self._waiting = False
        self._engine_depth = 0
        self._optimizer_depth = 0
        self._resume = OTHER
        self._backwards = 0
        self._optimizer_steps = 0
        self._eval_graphs = 0
        self._unused_graph = False
        self._loss: Any = None
        self._statm = -1
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")

    def start(self) -> None:
        """Begin with the phase *other*."""
        self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        self._engine_depth = self._optimizer_depth = 0
        # Nobody counted while nobody listened: the step that begins now begins now.
        self.start_ns = self._since_ns = perf_counter_ns()
        self._phase_rows = array("q")

    def stop(self) -> None:
        """Close what `start` opened."""
        self._loss = None
        self.context.enter(OTHER, 0)
        if self._statm >= 0:
            os.close(self._statm)
            self._statm = -1

    def wait_for_work(self) -> None:
        """Let this step count from its first forward or backward: imports are no training."""
        self._waiting = True

    @property
    def in_backward(self) -> bool:
        """Whether the autograd engine runs, called from the training thread."""
        return self._engine_depth > 0

    def forward_begins(self, now_ns: int) -> None:
        """A root module was called with gradients on."""
        self._count_unused()
        if self._engine_depth == 0:
            self._switch(FORWARD, now_ns)

    def graph_in_eval(self) -> None:
        """A root module in eval mode has returned something with a graph; perhaps no backward uses it."""
        self._count_unused()
        self._unused_graph = True

    def _count_unused(self) -> None:
        self._eval_graphs += self._unused_graph
        self._unused_graph = False

    def backward_begins(self, now_ns: int, accumulates: bool) -> None:
        """The autograd engine was called."""
        self._engine_depth += 1
        self._unused_graph = False
        if self._engine_depth == 1:
            after = OPTIMIZER if self._optimizer_depth else OTHER
            self._resume = after if accumulates else self.context.phase
            self._switch(BACKWARD, now_ns)

    def backward_ends(self, now_ns: int, roots: Any, accumulates: bool) -> bool:
        """The engine has returned; say whether it was the outermost call."""
        self._engine_depth = max(0, self._engine_depth - 1)
        if self._engine_depth:
            return False
        self._switch(self._resume, now_ns)
        self._backwards += 1
        if accumulates or self._loss is None:
            self._note_loss(roots)
        return True

    def optimizer_begins(self, now_ns: int) -> None:
        """An optimizer's step begins."""
        self._optimizer_depth += 1
        self._switch(OPTIMIZER, now_ns)

    def optimizer_ends(self, now_ns: int) -> None:
        """An optimizer's step has ended, perhaps one whose beginning was not seen."""
        self._optimizer_depth = max(0, self._optimizer_depth - 1)
        self._optimizer_steps += 1
        self._switch(OPTIMIZER if self._optimizer_depth else OTHER, now_ns)

    def begin_step(self, step: int) -> None:
        """Start all sums anew."""
        self.start_ns = self._since_ns = perf_counter_ns() if step == 0 else self._since_ns
        self._spent_ns = [0] * len(PHASES)
        self._backwards = self._optimizer_steps = self._eval_graphs = self.agent_ns = 0
        self._loss = None

    def close(self, now_ns: int) -> None:
        """The step ends at `now_ns`; what the agent does at the boundary belongs to the next one."""
        self._count_unused()
        self._switch(OTHER, now_ns)
        self._count(now_ns)

    def end_step(self, step: int) -> None:
        """Emit the step's rows. The memory capture must have ended its step before."""
        self._flush(step)
        live, peak = self.context.memory_totals() if self.context.memory_totals else (-1, -1)
        spent = self._spent_ns
        values = {
            "step": step, "t0_ns": self.start_ns, "t1_ns": self._since_ns, "forward_ns": spent[FORWARD],
            "backward_ns": spent[BACKWARD], "optimizer_ns": spent[OPTIMIZER], "loss": self._read_loss(step),
            "grad_norm": _NAN, "backwards": self._backwards, "optimizer_steps": self._optimizer_steps,
            "live_bytes": live, "peak_bytes": peak, "rss_bytes": self._rss_bytes(), "agent_ns": self.agent_ns,
            "eval_graphs": self._eval_graphs, "level": self.level, "variant": self.context.variant,
        }  # fmt: skip
        columns = {name: Column(dtype, (1,), pack(values[name])) for name, dtype, pack in _PACKERS}
        self.context.emit(Frame("step", step, self._since_ns, columns=columns))
        self.start_ns = self._since_ns

    def _switch(self, phase: int, now_ns: int) -> None:
        context = self.context
        if context.phase == phase:
            return
        self._count(now_ns)
        if self._waiting:
            self._waiting = False
            self.start_ns = now_ns
            self._phase_rows = array("q")
            self._spent_ns[OTHER] = 0
        context.enter(phase, context.module)

    def _count(self, now_ns: int) -> None:
        phase, since = self.context.phase, self._since_ns
        if now_ns > since:
            self._spent_ns[phase] += now_ns - since
            self._phase_rows.extend((phase, since, now_ns))
            self._since_ns = now_ns
            if len(self._phase_rows) > 3 * _FLUSH_ROWS:
                self._flush(self.context.step)

    def _flush(self, step: int) -> None:
        rows, self._phase_rows = self._phase_rows, array("q")
        if rows:
            columns = {
                "step": column("i4", [step] * (len(rows) // 3)),
                "phase": column("u1", rows[0::3].tolist()),
                "t0_ns": column("i8", rows[1::3]),
                "t1_ns": column("i8", rows[2::3]),
            }
            self.context.emit(Frame("phase", step, columns=columns))

    def _note_loss(self, roots: Any) -> None:
        root = roots[0] if isinstance(roots, tuple | list) and len(roots) == 1 else None
        self._loss = None
        if root is None or getattr(root, "numel", lambda: 0)() != 1 or not root.is_floating_point():
            return
        # On the CPU the number is there already: no tensor of the program is kept.
        self._loss = float(root.item()) if root.device.type == "cpu" else root.detach()

    def _read_loss(self, step: int) -> float:
        loss = self._loss
        if loss is None or isinstance(loss, float):
            return _NAN if loss is None else loss
        return float(loss.item()) if step % self.LOSS_EVERY == 0 else _NAN

    def _rss_bytes(self) -> int:
        if self._statm < 0:
            return -1
        return int(os.pread(self._statm, 128, 0).split()[1]) * self._page_bytes
