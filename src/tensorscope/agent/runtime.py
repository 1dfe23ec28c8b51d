"""The agent: follows the training thread step by step, and does what the window asks between two steps."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from tensorscope.agent import commands, toggles
from tensorscope.agent.capture.backward_call import BackwardCall
from tensorscope.agent.capture.modules import ModulesCapture
from tensorscope.agent.capture.steps import StepsCapture
from tensorscope.agent.captures import Captures
from tensorscope.agent.compiled import CompileWitness
from tensorscope.agent.context import Context
from tensorscope.agent.courier import Courier
from tensorscope.agent.cycle import Cycle
from tensorscope.agent.hello import hello_meta
from tensorscope.agent.hooks import Hooks
from tensorscope.agent.interner import Interner
from tensorscope.agent.options import Options
from tensorscope.agent.outbox import Outbox
from tensorscope.agent.program import Program
from tensorscope.core.schema import LEVELS
from tensorscope.core.wire import Frame


class Agent:
    """One agent of one process. Made in the training thread; that thread alone calls its hooks.

    Parameters
    ----------
    options
        Where to listen, what to record.
    at_rest
        Whether no user code runs yet, so that everything may be installed at once.
    """

    def __init__(self, options: Options, at_rest: bool = False) -> None:
        self.options = options
        self.origin_ns = perf_counter_ns()
        self.outbox = Outbox(options.outbox_bytes)
        self.interner = Interner()
        self.program = Program()
        self.context = Context(self.interner, self.program, self.emit)
        self.inbox: deque[commands.Command] = deque()
        self.courier = Courier(self)
        self.captures = Captures(self.context, wait=at_rest)
        self.steps = StepsCapture(self.context)
        self.modules = ModulesCapture(
            self.context, self.steps, self._root_begins, self._root_ends, self._modules_failed
        )
        self.cycle = Cycle()
        self.hooks = Hooks(self, self.modules.enter, self.modules.leave)
        self.compiled = CompileWitness(self._compile_begins)
        self.level = options.level
        self.deep_wanted = options.deep_first
        self.gradients_wanted = False
        """Whether the next deep step measures gradients."""
        self.alive = False
        self.step_seconds = 0.0
        """How long the last step took, boundary to boundary."""
        self._last_boundary_ns = self.origin_ns
        self._at_rest = at_rest
        self._running: str | None = None
        self._thread = threading.get_ident()
        self._recorded_steps = 0
        self._recorder_kind = "none"
        self._client = 0
        self._looked_for_owners = False
        self._detach_wanted = False
        self.on_detached: Callable[[], None] | None = None

    # Life -------------------------------------------------------------------------------------

    def start(self) -> None:
        """Listen, and follow the program from now on.

        Raises
        ------
        TensorScopeError
            If the address cannot be listened on or the file cannot be written.
        """
        self.courier.start()
        self.alive = True
        self.hooks.install_base()
        if self._at_rest and self.courier.has_sink:
            self._guard(self._begin)
            self.steps.wait_for_work()
        self._at_rest = self.captures.wait = False

    def detach(self, reason: str, patience_seconds: float = 1.0) -> None:
        """Take everything out and say goodbye. At a step boundary, or when no boundary comes any more.

        Waits `patience_seconds` at most for what is still to be sent and written; that goes on after.
        """
        if not self.alive:
            return
        self.alive = False
        self._guard(self._leave)
        self.hooks.remove()
        self.courier.stop(reason, patience_seconds)
        if self.on_detached is not None:
            self.on_detached()

    def forget(self) -> None:
        """In a forked child: nothing of ours may run or be sent there."""
        self.alive = False
        self.courier.forget()
        self.outbox.clear()
        self._guard(self._leave)
        self.hooks.remove()

    def emit(self, frame: Frame) -> None:
        """Queue a frame, if anybody listens."""
        if frame.kind == "notice":
            self.outbox.put_control(frame)  # kept for who attaches later
            return
        if not self.courier.has_sink:
            return
        if threading.get_ident() == self._thread:
            self.outbox.put(frame)
        else:
            self.outbox.put_control(frame)

    def hello(self) -> Frame:
        """Return the frame that says what this process is and what is captured. Any thread."""
        level = self._running or self.level
        meta = hello_meta(self.origin_ns, level, self.captures.get("allocator"))
        return Frame("hello", self.context.step, self.origin_ns, meta=meta)

    # Hooks: whatever happens here, nothing is raised into the program ----------------------------

    def optimizer_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Optimizer pre hook."""
        if self._running is not None and threading.get_ident() == self._thread:
            self._guard(self.steps.optimizer_begins, perf_counter_ns())

    def optimizer_ends(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Optimizer post hook: the step boundary."""
        if self.alive and threading.get_ident() == self._thread_of(optimizer):
            self._guard(self._optimizer_ended, optimizer, perf_counter_ns())
            self._stop_script_if_done()

    def backward_begins(self, call: BackwardCall) -> None:
        """The autograd engine is called."""
        if self._running is None or threading.get_ident() != self._thread:
            return
        now = perf_counter_ns()
        if not self.steps.in_backward:
            self.captures.event("before_backward", call)
        self._guard(self.steps.backward_begins, now, call.accumulates)
        self.steps.agent_ns += perf_counter_ns() - now

    def backward_ends(self, call: BackwardCall, error: BaseException | None) -> None:
        """The autograd engine has returned or raised."""
        if not self.alive or threading.get_ident() != self._thread:
            return
        self._guard(self._backward_ended, call, error, perf_counter_ns())
        self._stop_script_if_done()

    # Between two steps ----------------------------------------------------------------------------

    def _optimizer_ended(self, optimizer: Any, now_ns: int) -> None:
        self.program.add_optimizer(optimizer)
        if self._running is not None:
            self.steps.optimizer_ends(now_ns)
        if self.cycle.optimizer_stepped(optimizer):
            self._boundary(now_ns)

    def _backward_ended(self, call: BackwardCall, error: BaseException | None, now_ns: int) -> None:
        if self._running is not None:
            outermost = self.steps.backward_ends(now_ns, call.roots, call.accumulates)
            if not outermost:
                return
            self.captures.event("after_backward", call, error)
            self.steps.agent_ns += perf_counter_ns() - now_ns
        if self.cycle.backward_ended():
            self._boundary(now_ns)

    def _boundary(self, now_ns: int) -> None:
        if self._running is not None:
            self._end_step(now_ns)
        self.context.step += 1
        self.step_seconds = (now_ns - self._last_boundary_ns) / 1e9
        self._last_boundary_ns = now_ns
        commands.run_waiting(self)
        if self._detach_wanted or self._recorded_all():
            self.detach("The recording is complete." if self._recorded_all() else "Detached.")
        elif self.courier.has_sink:
            if not self.courier.has_client:
                toggles.all_off(self.context)  # whoever switched something has left; the recording goes on
            self._begin()
            self.courier.wake()
        elif self._running is not None:
            self._leave()

    def _end_step(self, now_ns: int) -> None:
        begun = perf_counter_ns()
        self.steps.close(now_ns)
        self.program.refresh()
        step = self.context.step
        self.captures.tell("end_step", step)
        self.modules.end_step(step)
        self.steps.agent_ns += perf_counter_ns() - begun
        self.steps.end_step(step)
        self._recorded_steps += 1

    def _begin(self) -> None:
        """Begin a step at the level that is wanted now."""
        if self.courier.client_number != self._client:
            self._client = self.courier.client_number
            self.deep_wanted = self.deep_wanted or self.options.deep_first
            self.courier.open_stream(self.outbox)
            resync = self._running is not None
        else:
            resync = self.courier.wants_resync()
        level = self._next_level()
        if self._running != level:
            self._switch(level)
        self.hooks.install_pairs(modules=not self.compiled.seen and not self.modules.broken)
        if resync:
            self.captures.tell("resync")
        self.steps.level = LEVELS.index(level)
        for capture in (self.steps, self.modules):
            capture.begin_step(self.context.step)
        self.captures.tell("begin_step", self.context.step)
        if self.captures.recorder_kind != self._recorder_kind:
            self._recorder_kind = self.captures.recorder_kind
            self.courier.say_hello()

    def _next_level(self) -> str:
        """Return the level of the step that begins, and forget what was asked of it."""
        every, step = self.options.deep_every, self.context.step
        deep = self.deep_wanted or (every > 0 and step > 0 and step % every == 0)
        self.context.wants_gradients = deep and (self.gradients_wanted or self.options.gradients)
        self.deep_wanted = self.gradients_wanted = False
        return "deep" if deep else self.level

    def _switch(self, level: str) -> None:
        if self._running is None:
            self._find_program()
            self.steps.start()
            self.modules.start()
        self._running = level
        self.modules.rows = level != "pulse"
        self.captures.run_level(level)
        self.courier.say_hello()

    def _find_program(self) -> None:
        self.compiled.install()
        if not self._looked_for_owners and not self._at_rest:
            self._looked_for_owners = True
            self.program.find_owners()
        self.program.refresh()

    def _leave(self) -> None:
        """Stop every capture and undo every toggle; only the base hooks stay."""
        self._running = None
        toggles.all_off(self.context)
        self.hooks.remove_pairs()
        self.captures.run_level(None)
        self.modules.stop()
        self.steps.stop()
        self.compiled.remove()

    def _recorded_all(self) -> bool:
        return 0 < self.options.steps <= self._recorded_steps

    def _stop_script_if_done(self) -> None:
        if not self.alive and self.options.stop_script and self._recorded_all():
            self.options.stop_script = False
            raise SystemExit(0)

    def ask_detach(self) -> None:
        """Detach at the end of this boundary."""
        self._detach_wanted = True

    # The rest ---------------------------------------------------------------------------------------

    def _root_begins(self, module: Any, args: Any) -> None:
        self.captures.event("before_forward", module, args, {})

    def _root_ends(self, module: Any, output: Any) -> None:
        self.captures.event("after_forward", module, output)

    def _thread_of(self, optimizer: Any) -> int:
        """The training thread is the one whose optimizer steps first."""
        if self.context.step == 0 and not self.program.optimizers:
            self._thread = threading.get_ident()
        return self._thread

    def _compile_begins(self) -> None:
        """The program compiles something: forward hooks would be traced into it, and warn."""
        self.hooks.remove_modules()
        self.captures.tell("compile_begins")
        text = "The program uses torch.compile: steps and memory are seen, but no forward passes and modules."
        self.context.notice("info", "compiled", text)

    def _guard(self, function: Callable[..., Any], *args: Any) -> None:
        try:
            function(*args)
        except Exception as error:  # noqa: BLE001  (nothing of ours may reach the training loop)
            self._fail("core", error)

    def _modules_failed(self, error: Exception) -> None:
        self._fail("following of modules", error)

    def _fail(self, what: str, error: Exception) -> None:
        """Say what has failed; without modules we go on, without the core we leave."""
        text = f"The agent's {what} failed and was switched off: {type(error).__name__}: {error}"
        self.context.notice("error", "agent-failed", text)
        if os.environ.get("TENSORSCOPE_DEBUG"):
            sys.excepthook(type(error), error, error.__traceback__)
        if what == "core":
            self.detach(text)
