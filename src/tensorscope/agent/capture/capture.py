"""What a capture can listen to."""

from __future__ import annotations

from typing import Any

from tensorscope.agent.capture.backward_call import BackwardCall
from tensorscope.agent.context import Context


class Capture:
    """Base of all captures. Everything runs in the training thread.

    `start` and `stop` are called at a step boundary only, and `stop` leaves nothing behind. An
    exception in any method is caught by the runtime, reported once, and ends this capture alone.
    """

    name = ""

    def __init__(self, context: Context) -> None:
        self.context = context

    def start(self) -> None:
        """Install what is needed."""

    def stop(self) -> None:
        """Undo `start`, also after `start` or another method raised."""

    def begin_step(self, step: int) -> None:
        """Step `step` begins now."""

    def end_step(self, step: int) -> None:
        """Step `step` has just ended: emit its frames."""

    def resync(self) -> None:
        """A reader is new or has missed frames: send afresh what later frames build on. At a boundary."""

    def compile_begins(self) -> None:
        """The program gives something to `torch.compile`, perhaps in the middle of a step."""

    def before_forward(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A root module's forward begins."""

    def after_forward(self, module: Any, output: Any) -> None:
        """A root module's forward has returned."""

    def before_backward(self, call: BackwardCall) -> None:
        """The autograd engine is about to run."""

    def after_backward(self, call: BackwardCall, error: BaseException | None) -> None:
        """The autograd engine has returned, or raised `error`; the graph may already be freed."""
