"""One file for each optimisation that can be switched in place.

All functions run in the training thread at a step boundary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tensorscope.agent.context import Context
from tensorscope.agent.toggles.autocast import Autocast
from tensorscope.agent.toggles.toggle import Toggle, ToggleError, Undo, Verdict, chosen
from tensorscope.core.wire import Frame

TOGGLES: dict[str, Toggle] = {toggle.name: toggle for toggle in (Autocast(),)}


@dataclass(frozen=True)
class Active:
    """A toggle that is on."""

    params: dict[str, str]
    variant: str
    undo: Undo


def list_toggles(context: Context) -> list[dict[str, Any]]:
    """Return every toggle: name, title, on, ok, reason, params, explain; in plain JSON."""
    return [_describe(context, toggle) for toggle in TOGGLES.values()]


def switch(context: Context, name: str, on: bool, params: dict[str, Any]) -> dict[str, Any]:
    """Switch a toggle, and say so to the window; the step that begins now is the first it rules.

    Raises
    ------
    ToggleError
        If it cannot be switched; the program is as it was.
    """
    toggle = TOGGLES.get(name)
    if toggle is None:
        raise ToggleError(f"There is no optimisation named {name!r}.")
    active = context.toggles.get(name)
    if on:
        verdict = toggle.applies(context)
        if not verdict.ok:
            raise ToggleError(f"{toggle.title} cannot be switched on. {verdict.reason}")
        wanted = chosen(toggle, context, params)
        if active is not None and active.params == wanted:
            return _state(context, toggle)
        if active is not None:
            _off(context, name)
            _say(context, toggle)
        context.toggles[name] = Active(wanted, toggle.variant(wanted), toggle.enable(context, wanted))
    elif active is not None:
        _off(context, name)
    else:
        return _state(context, toggle)
    return _say(context, toggle)


def all_off(context: Context) -> None:
    """Restore the program: what detaching does. Does not raise."""
    for name in reversed(list(context.toggles)):
        try:
            _off(context, name)
            _say(context, TOGGLES[name])
        except Exception as error:  # noqa: BLE001, PERF203  (the others must still be undone)
            text = f"{TOGGLES[name].title} could not be undone: {type(error).__name__}: {error}"
            context.notice("error", "toggle-stuck", text)


def _off(context: Context, name: str) -> None:
    context.toggles.pop(name).undo()


def _say(context: Context, toggle: Toggle) -> dict[str, Any]:
    context.variant = context.string(_variant(context))
    state = _state(context, toggle)
    context.emit(Frame("toggle", context.step, meta=state))
    return state


def _state(context: Context, toggle: Toggle) -> dict[str, Any]:
    active = context.toggles.get(toggle.name)
    return {
        "name": toggle.name,
        "on": active is not None,
        "params": active.params if active is not None else {},
        "variant": _variant(context),
    }


def _variant(context: Context) -> str:
    """Return the mark of what is on, in one order whatever was switched first."""
    return "+".join(context.toggles[name].variant for name in TOGGLES if name in context.toggles)


def _describe(context: Context, toggle: Toggle) -> dict[str, Any]:
    verdict = toggle.applies(context)
    params = [
        {"name": p.name, "choices": list(p.choices), "default": p.default, "refused": p.refused}
        for p in toggle.params(context)
    ]
    return {
        **_state(context, toggle),
        "title": toggle.title,
        "ok": verdict.ok,
        "reason": verdict.reason,
        "params": params,
        "chosen": context.toggles[toggle.name].params if toggle.name in context.toggles else {},
        "explain": toggle.explain(context),
    }


__all__ = ["TOGGLES", "Toggle", "ToggleError", "Verdict", "all_off", "list_toggles", "switch"]
