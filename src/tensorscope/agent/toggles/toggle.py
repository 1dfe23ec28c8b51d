"""What every optimisation that can be switched in place has in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tensorscope.agent.context import Context
from tensorscope.core.errors import TensorScopeError

Undo = Callable[[], None]


class ToggleError(TensorScopeError):
    """An optimisation cannot be switched; the program is as it was."""


@dataclass(frozen=True)
class Verdict:
    """Whether a toggle can be switched on in this program, and why (not)."""

    ok: bool
    reason: str = ""


@dataclass(frozen=True)
class Param:
    """A choice that a person has. `refused` says of some choices why they cannot be taken here."""

    name: str
    choices: tuple[str, ...]
    default: str
    refused: dict[str, str] = field(default_factory=dict)


class Toggle:
    """One optimisation. Everything runs in the training thread at a step boundary.

    Attributes
    ----------
    name
        Short and stable: "autocast".
    title
        For people.
    """

    name = ""
    title = ""

    def params(self, context: Context) -> list[Param]:
        """Return the choices there are in this program."""
        return []

    def applies(self, context: Context) -> Verdict:
        """Say whether it can be switched on. Never raises and changes nothing."""
        raise NotImplementedError

    def enable(self, context: Context, params: dict[str, str]) -> Undo:
        """Switch it on; what is returned restores the program exactly.

        Raises
        ------
        ToggleError
            If it cannot; nothing has been changed then.
        """
        raise NotImplementedError

    def variant(self, params: dict[str, str]) -> str:
        """Return how steps under these choices are marked: "autocast-bf16"."""
        return self.name

    def explain(self, context: Context) -> str:
        """Return what changes, what it costs and when it hurts."""
        raise NotImplementedError


def chosen(toggle: Toggle, context: Context, params: dict[str, Any]) -> dict[str, str]:
    """Return `params` with defaults filled in.

    Raises
    ------
    ToggleError
        If one is unknown or cannot be taken here.
    """
    known = {param.name: param for param in toggle.params(context)}
    for name in params:
        if name not in known:
            raise ToggleError(f"{toggle.title} has no choice named {name!r}.")
    out = {}
    for name, param in known.items():
        value = params.get(name, param.default)
        if value not in param.choices:
            raise ToggleError(f"{toggle.title}: {name} must be one of {', '.join(param.choices)}.")
        if value in param.refused:
            raise ToggleError(f"{toggle.title} with {name} {value} is refused: {param.refused[value]}")
        out[name] = value
    return out
