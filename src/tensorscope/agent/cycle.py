"""When a training iteration ends, from nothing but which optimizer has just stepped."""

from __future__ import annotations

import weakref
from typing import Any

BACKWARDS_WITHOUT_OPTIMIZER = 50
_FORGET_AFTER = 32


class _Stepper:
    """One optimizer: when it stepped last and how many steps of all optimizers lie between its own."""

    def __init__(self, optimizer: Any, now: int) -> None:
        self.ref = weakref.ref(optimizer)
        self.last = now
        # Not known yet: as seldom as it has stepped so far.
        self.gap = float(min(now, _FORGET_AFTER))

    def step(self, now: int) -> None:
        self.gap += (now - self.last - self.gap) / 2
        self.last = now


class Cycle:
    """Decides which optimizer step, or else which backward, closes an iteration.

    An iteration is one full cycle of the optimizers that are in use. The one that steps least often
    closes it (a GAN that trains its critic three times as often as its generator: the generator); of
    equally frequent ones, the one that was seen last. Until all have been seen once, the first ones
    close iterations too. An optimizer that has not stepped for long is forgotten.

    A program that never steps an optimizer has one iteration per backward, after
    `BACKWARDS_WITHOUT_OPTIMIZER` of them.
    """

    def __init__(self) -> None:
        self._steppers: list[_Stepper] = []
        self._steps = 0
        self._backwards = 0

    @property
    def closes_on_backward(self) -> bool:
        """Whether this program seems to use no optimizer."""
        return self._backwards > BACKWARDS_WITHOUT_OPTIMIZER

    def optimizer_stepped(self, optimizer: Any) -> bool:
        """Note a step; return whether it closes an iteration."""
        self._steps += 1
        self._backwards = 0
        mine = self._stepper(optimizer)
        self._forget()
        slowest = max(stepper.gap for stepper in self._steppers)
        closers = [stepper for stepper in self._steppers if stepper.gap >= slowest - 0.25]
        return closers[-1] is mine

    def backward_ended(self) -> bool:
        """Note a backward; return whether it closes an iteration."""
        self._backwards += 1
        return self.closes_on_backward

    def _stepper(self, optimizer: Any) -> _Stepper:
        for stepper in self._steppers:
            if stepper.ref() is optimizer:
                stepper.step(self._steps)
                return stepper
        self._steppers.append(_Stepper(optimizer, self._steps))
        return self._steppers[-1]

    def _forget(self) -> None:
        self._steppers = [
            stepper
            for stepper in self._steppers
            if stepper.ref() is not None and self._steps - stepper.last <= max(_FORGET_AFTER, 4 * stepper.gap)
        ]
