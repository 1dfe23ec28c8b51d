"""The agent of this process: started once, by whoever comes first."""

from __future__ import annotations

import atexit
import os
from typing import Any

from tensorscope.agent.options import Options
from tensorscope.agent.runtime import Agent

_agent: Agent | None = None
_fork_guarded = False


def current() -> Agent | None:
    """Return the agent that runs in this process, or None."""
    return _agent if _agent is not None and _agent.alive else None


def start(options: Options, at_rest: bool = False) -> Agent:
    """Start an agent, or return the one that runs already.

    Raises
    ------
    TensorScopeError
        If it cannot listen or record.
    """
    global _agent, _fork_guarded
    running = current()
    if running is not None:
        return running
    agent = Agent(options, at_rest)
    agent.start()
    _agent = agent
    if not _fork_guarded:
        _fork_guarded = True
        os.register_at_fork(after_in_child=_forget)
    atexit.register(_at_exit)
    agent.on_detached = lambda: atexit.unregister(_at_exit)
    return agent


def stop(reason: str = "The program has ended.") -> None:
    """Detach the agent of this process, if there is one. In the training thread, between two steps."""
    if _agent is not None:
        _agent.detach(reason, patience_seconds=10.0)


class Watch:
    """``with tensorscope.watch(model, optimizer):``; ends at the end of the block, or with the program."""

    def __init__(self, agent: Agent, owner: bool) -> None:
        self.agent = agent
        self._owner = owner

    @property
    def address(self) -> str:
        """Where a window can attach."""
        return self.agent.courier.address

    def stop(self) -> None:
        """Detach, if this watch is the one that started the agent."""
        if self._owner:
            self.agent.detach("The program has stopped watching.", patience_seconds=10.0)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.stop()


def watch(*watched: Any, address: str = "", record: str = "", level: str = "scope", steps: int = 0) -> Watch:
    """Let a window attach to this program, and record it if asked to.

    Parameters
    ----------
    *watched
        Modules and optimizers, for their names; what is used is found without them too.
    address
        Where to listen: empty for this process's own socket, ``tcp:127.0.0.1:0``, or ``none``.
    record
        Session file to write.
    level
        ``pulse`` or ``scope``.
    steps
        Stop after that many steps; 0 for never.
    """
    owner = current() is None
    agent = start(Options(address=address, record=record, level=level, steps=steps))
    for thing in watched:
        if hasattr(thing, "param_groups"):
            agent.program.add_optimizer(thing)
        elif hasattr(thing, "named_modules"):
            agent.program.add_root(thing)
    return Watch(agent, owner)


def _at_exit() -> None:
    stop()


def _forget() -> None:
    global _agent
    if _agent is not None:
        _agent.forget()
        _agent = None
