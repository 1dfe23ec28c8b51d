"""What an agent is asked to do when it starts."""

from __future__ import annotations

from dataclasses import dataclass

from tensorscope.agent.outbox import DEFAULT_BOUND_BYTES


@dataclass
class Options:
    """Settings of one agent.

    Attributes
    ----------
    address
        Where to listen; empty for the socket of this process in the runtime directory, ``none`` for
        nowhere.
    record
        Session file to write, or empty.
    steps
        Detach after that many recorded steps; 0 for never.
    level
        ``pulse`` or ``scope``.
    deep_first
        Capture the first step that somebody listens to deeply.
    deep_every
        Capture every so many steps deeply; 0 for only the first and those that are asked for.
    gradients
        Measure gradients and outputs in deep steps.
    stop_script
        End the script with exit code 0 after `steps`.
    outbox_bytes
        How much may wait for a slow reader.
    token
        What TCP clients must know.
    """

    address: str = ""
    record: str = ""
    steps: int = 0
    level: str = "scope"
    deep_first: bool = True
    deep_every: int = 0
    gradients: bool = False
    stop_script: bool = False
    outbox_bytes: int = DEFAULT_BOUND_BYTES
    token: str | None = None
