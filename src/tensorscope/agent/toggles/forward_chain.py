"""The one owner of a module's own `forward`, so that several toggles can wrap it and leave in any order."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable
from functools import partial
from types import MethodType
from typing import Any

Layer = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""Called with (what is inside, args, kwargs); returns the output."""


class ForwardChain:
    """Stands in a module's ``__dict__["forward"]`` while there are layers, and gives back what was there.

    A copy of the module gets the plain forward, and so does what is read back from a pickle: the layers
    belong to this one module.
    """

    def __init__(self, module: Any) -> None:
        self._module = weakref.ref(module)
        self._was_patched = "forward" in module.__dict__
        # inspect.signature and the like see through to the real one.
        self.__wrapped__ = module.forward
        self._layers: dict[str, tuple[int, Layer]] = {}
        self._inside_out: list[Layer] = []

    @classmethod
    def of(cls, module: Any) -> ForwardChain:
        """Return the chain of `module`; it takes effect with its first layer."""
        found = module.__dict__.get("forward")
        return found if isinstance(found, ForwardChain) else cls(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the forward through all layers."""
        call = self.__wrapped__
        for layer in self._inside_out:
            call = partial(_through, layer, call)
        return call(*args, **kwargs)

    def add(self, name: str, order: int, layer: Layer) -> None:
        """Put a layer in; higher `order` is further outside."""
        module = self._module()
        if module is None:
            return
        self._layers[name] = (order, layer)
        self._sort()
        module.__dict__["forward"] = self

    def remove(self, name: str) -> None:
        """Take a layer out; with the last one the chain itself goes."""
        self._layers.pop(name, None)
        self._sort()
        module = self._module()
        # Somebody may have wrapped us since: then an empty chain stays below theirs.
        if module is None or self._layers or module.__dict__.get("forward") is not self:
            return
        if self._was_patched:
            module.__dict__["forward"] = self.__wrapped__
        else:
            del module.__dict__["forward"]

    def _sort(self) -> None:
        self._inside_out = [layer for _, layer in sorted(self._layers.values(), key=lambda entry: entry[0])]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        module = self._module()
        other = memo.get(id(module))
        if other is None:
            return self
        if self._was_patched:
            return copy.deepcopy(self.__wrapped__, memo)
        return MethodType(type(other).forward, other)

    def __reduce__(self) -> Any:
        if self._was_patched:
            return copy.copy, (self.__wrapped__,)
        return getattr, (self._module(), "forward")


def _through(layer: Layer, inside: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return layer(inside, args, kwargs)
