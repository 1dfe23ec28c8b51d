"""What the window asks for: received in the agent thread, done in the training thread between two steps."""

from __future__ import annotations

import importlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tensorscope.core.errors import TensorScopeError
from tensorscope.core.schema import LEVELS
from tensorscope.core.wire import Frame

if TYPE_CHECKING:
    from tensorscope.agent.runtime import Agent

PATIENCE_SECONDS = 10.0
"""How long a command waits for the end of a step, where steps are shorter than that."""
_MAX_WAITING = 64


class CommandError(TensorScopeError):
    """A command cannot be done; the text is for the person."""


@dataclass(frozen=True)
class Command:
    """One thing to do."""

    id: int
    name: str
    args: dict[str, Any]
    since: float


def receive(agent: Agent, frame: Frame) -> None:
    """Take in a frame of the window. Agent thread."""
    meta = frame.meta
    command_id, name, args = meta.get("id"), meta.get("name"), meta.get("args", {})
    if frame.kind != "command" or type(command_id) is not int or not isinstance(name, str):
        return
    if not isinstance(args, dict):
        args = {}
    command = Command(command_id, name, args, time.monotonic())
    if len(agent.inbox) >= _MAX_WAITING:
        reply(agent, command, error="Too many commands wait already.")
    else:
        agent.inbox.append(command)


def run_waiting(agent: Agent) -> None:
    """Do everything that was asked for. Training thread, at a step boundary."""
    while agent.inbox:
        try:
            command = agent.inbox.popleft()
        except IndexError:
            return
        try:
            reply(agent, command, result=_run(agent, command))
        except TensorScopeError as error:
            reply(agent, command, error=str(error))
        except Exception as error:  # noqa: BLE001  (nothing of ours may reach the training loop)
            text = f"Command {command.name!r} failed: {type(error).__name__}: {error}"
            reply(agent, command, error=text)


def expire(agent: Agent) -> None:
    """Answer commands for which no step boundary came. Agent thread."""
    if not agent.inbox:
        return
    patience = max(PATIENCE_SECONDS, 3 * agent.step_seconds)
    try:
        command = agent.inbox.popleft()
    except IndexError:
        return
    if time.monotonic() - command.since < patience:
        agent.inbox.appendleft(command)
    elif command.name == "detach":
        reply(agent, command)
        agent.detach("Detached; no training step was under way.")
    else:
        text = f"No training step has ended for {patience:.0f} s, so {command.name!r} was not done."
        reply(agent, command, error=text)


def reply(agent: Agent, command: Command, result: Any = None, error: str | None = None) -> None:
    """Answer `command`."""
    meta = {
        "id": command.id,
        "ok": error is None,
        "error": error,
        "step": agent.context.step,
        "result": result,
    }
    agent.emit(Frame("reply", agent.context.step, meta=meta))


def _run(agent: Agent, command: Command) -> Any:
    run = _COMMANDS.get(command.name)
    if run is None:
        raise CommandError(f"This agent does not know the command {command.name!r}.")
    return run(agent, command)


def _level(agent: Agent, command: Command) -> Any:
    level = command.args.get("level")
    if level not in LEVELS[:2]:
        raise CommandError(f"Level {level!r} is none of {', '.join(LEVELS[:2])}.")
    agent.level = level


def _deep(agent: Agent, command: Command) -> Any:
    agent.deep_wanted = True
    agent.gradients_wanted = agent.gradients_wanted or command.args.get("gradients") is True


def _detach(agent: Agent, command: Command) -> Any:
    if agent.options.record:
        raise TensorScopeError(
            f"The program records itself into {agent.options.record}, which detaching would end: "
            "close the session instead, then it goes on as it was."
        )
    agent.ask_detach()


def _toggles(agent: Agent, command: Command) -> Any:
    toggles: Any = importlib.import_module("tensorscope.agent.toggles")
    return toggles.list_toggles(agent.context)


def _toggle(agent: Agent, command: Command) -> Any:
    toggles: Any = importlib.import_module("tensorscope.agent.toggles")
    name, on, params = (command.args.get(key) for key in ("name", "on", "params"))
    if not isinstance(name, str) or not isinstance(on, bool):
        raise CommandError("A toggle needs a name and on (true or false).")
    return toggles.switch(agent.context, name, on, params if isinstance(params, dict) else {})


def _values(agent: Agent, command: Command) -> Any:
    values: Any = importlib.import_module("tensorscope.agent.capture.values")
    frame = values.read_values(agent.context, command.args)
    meta = {**frame.meta, "id": command.id}
    agent.emit(Frame(frame.kind, agent.context.step, 0, 0, meta, frame.columns))
    return None


def _holders(agent: Agent, command: Command) -> Any:
    holders: Any = importlib.import_module("tensorscope.agent.capture.holders")
    return holders.find_holders(agent.context, command.args)


_COMMANDS = {
    "level": _level, "deep": _deep, "detach": _detach, "toggles": _toggles, "toggle": _toggle,
    "values": _values, "holders": _holders,
}  # fmt: skip
