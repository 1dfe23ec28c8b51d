"""The optimisations a live target offers, what was asked of them, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from psygnal import Signal

from tensorscope.models.session_model import SessionModel

ASK_AGAIN_STEPS = 20


@dataclass(frozen=True)
class Param:
    """A choice that comes with a toggle. `refused` says of some choices why they cannot be taken."""

    name: str
    choices: tuple[str, ...]
    default: str
    refused: Mapping[str, str]


@dataclass(frozen=True)
class Toggle:
    """One optimisation.

    Attributes
    ----------
    chosen
        The choices that rule now or were asked for last.
    ok, reason
        Whether it can be used in this program, and why not (or what to know).
    pending
        A switch was asked for and has not taken effect.
    step
        First step that it rules as it is now, -1 if it never changed.
    error
        Why the last switch was refused, "" if it was not.
    """

    name: str
    title: str
    on: bool
    ok: bool
    reason: str
    params: tuple[Param, ...]
    chosen: Mapping[str, str]
    explain: str
    pending: bool = False
    step: int = -1
    error: str = ""


class TogglesModel:
    """Follows the replies of one session. GUI thread only; Qt-free."""

    changed = Signal()

    def __init__(self, session: SessionModel) -> None:
        self._session = session
        self._list_command = -1
        self._asked_step = -1
        self._commands: dict[int, str] = {}
        self._toggles: dict[str, Toggle] = {}

    @property
    def toggles(self) -> tuple[Toggle, ...]:
        """All of them, in the target's order."""
        return tuple(self._toggles.values())

    @property
    def pending(self) -> bool:
        """Whether an answer is waited for."""
        return bool(self._commands) or (self._list_command >= 0 and not self._toggles)

    def request(self) -> None:
        """Ask the target for the list; it answers at its next step boundary."""
        self._list_command = self._session.send("toggles")
        self._asked_step = self._session.last_step

    def advance(self) -> None:
        """Ask again as the program goes on, while something in it did not apply before.

        Before its first step a program has shown no model; a later step may bring another.
        """
        answered = self._list_command < 0 and not all(toggle.ok for toggle in self.toggles)
        patience = ASK_AGAIN_STEPS if self._asked_step > 1 else 1
        if answered and self._session.last_step >= self._asked_step + patience:
            self.request()

    def forget(self) -> None:
        """Stop waiting: the target is gone."""
        self._list_command = -1
        self._commands.clear()
        self._toggles = {name: replace(t, pending=False) for name, t in self._toggles.items()}
        self.changed.emit()

    def switch(self, name: str, on: bool, params: Mapping[str, str]) -> None:
        """Ask for `name` to be switched; `pending` until the target says what it did."""
        toggle = self._toggles[name]
        command = self._session.send("toggle", name=name, on=on, params=dict(params))
        if command >= 0:
            self._commands[command] = name
            self._set(replace(toggle, pending=True, error="", chosen=dict(params)))

    def on_reply(self, meta: Mapping[str, Any]) -> None:
        """Take in a ``reply``; those to other commands are ignored."""
        command = meta.get("id")
        if command == self._list_command and command != -1:
            self._list_command = -1
            self._take_list(meta.get("result") if meta.get("ok") else None)
        elif isinstance(command, int) and command in self._commands:
            toggle = self._toggles[self._commands.pop(command)]
            if meta.get("ok"):
                self._set(replace(toggle, pending=False))
                self.request()  # one optimisation may forbid or allow another
            else:
                self._set(replace(toggle, pending=False, error=str(meta.get("error") or "")))

    def on_toggle(self, meta: Mapping[str, Any], step: int) -> None:
        """Take in a ``toggle`` frame: it took effect, whoever asked for it."""
        toggle = self._toggles.get(str(meta.get("name")))
        if toggle is not None:
            self._set(replace(toggle, on=bool(meta.get("on")), step=step, error=""))

    def _take_list(self, result: Any) -> None:
        for entry in result if isinstance(result, list) else []:
            if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                continue
            name = entry["name"]
            params = _params(entry.get("params"))
            chosen = entry.get("chosen")
            old = self._toggles.get(name)
            self._toggles[name] = Toggle(
                name, str(entry.get("title") or name), bool(entry.get("on")), bool(entry.get("ok")),
                str(entry.get("reason") or ""), params,
                chosen if isinstance(chosen, dict) and chosen else {p.name: p.default for p in params},
                str(entry.get("explain") or ""), pending=old.pending if old else False,
                step=old.step if old else -1, error=old.error if old else "",
            )  # fmt: skip
        self.changed.emit()

    def _set(self, toggle: Toggle) -> None:
        self._toggles[toggle.name] = toggle
        self.changed.emit()


def _params(entries: Any) -> tuple[Param, ...]:
    """Return the choices of a toggle, what is malformed left out."""
    found = []
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict) or not isinstance(entry.get("choices"), list):
            continue
        refused = entry.get("refused")
        found.append(
            Param(
                str(entry.get("name")), tuple(str(choice) for choice in entry["choices"]),
                str(entry.get("default")), refused if isinstance(refused, dict) else {},
            )
        )  # fmt: skip
    return tuple(found)
