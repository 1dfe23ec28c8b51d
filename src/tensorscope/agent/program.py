"""The model, the optimizers and the names of things in the target program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Program:
    """What is known of the target program. Filled at attach and when a new optimizer steps.

    Attributes
    ----------
    roots
        Modules that are called at depth 0 or own parameters of a stepped optimizer.
    optimizers
        Optimizers that have stepped.
    """

    def __init__(self) -> None:
        self.roots: list[Any] = []
        self.optimizers: list[Any] = []

    def named_tensors(self) -> Iterator[tuple[str, str, Any]]:
        """Yield (name, role, tensor) of every parameter, gradient, optimizer state and buffer.

        Roles are of `schema.ROLES`. Names are dotted module paths, prefixed by the root's name where
        there are several roots; ``.grad`` is appended for gradients, and optimizer state is
        ``<parameter>.exp_avg``.
        """
        return iter(())

    def module_path(self, module: Any) -> str:
        """Return the dotted path of `module`, its class name if it belongs to no root."""
        return type(module).__name__

    def parameter_name(self, tensor: Any) -> str:
        """Return the name of a parameter, ``""`` if it is none of ours."""
        return ""
