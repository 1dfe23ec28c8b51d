"""The model, the optimizers and the names of things in the target program."""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import torch

_WRAPPERS = {"OptimizedModule": "_orig_mod.", "DistributedDataParallel": "module.", "DataParallel": "module."}
"""Classes around somebody's model, and what they put before its paths."""

_MAX_STRAYS = 4096


class Program:
    """What is known of the target program. Filled at attach and when a new optimizer steps.

    Only weak references are kept, so that nothing of the program lives longer because we looked.
    Training thread only.
    """

    def __init__(self) -> None:
        self.stale = True
        """Names must be collected again, at the next boundary."""
        self._roots: list[weakref.ref[Any]] = []
        self._optimizers: list[weakref.ref[Any]] = []
        self.generation = 0
        """Grows when names may have changed; caches of names compare it."""
        self._paths: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._strays: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._parameters: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._places: list[tuple[weakref.ref[Any], str, str, bool]] = []
        self._loose: list[tuple[weakref.ref[Any], str]] = []
        self._state_names: dict[tuple[int, Any], str] = {}

    @property
    def roots(self) -> list[Any]:
        """Modules that are called at depth 0 or own parameters of a stepped optimizer."""
        return [module for ref in self._roots if (module := ref()) is not None]

    @property
    def optimizers(self) -> list[Any]:
        """Optimizers that have stepped."""
        return [optimizer for ref in self._optimizers if (optimizer := ref()) is not None]

    def knows(self, module: Any) -> bool:
        """Return whether `module` has a path already."""
        found = self._paths.get(id(module)) or self._strays.get(id(module))
        return found is not None and found[0]() is module

    def add_root(self, module: Any) -> None:
        """Note a module that was called from outside any other, if it owns parameters."""
        inside = with_descendants(module)
        if not any(one.__dict__.get("_parameters") for one in inside.values()):
            self._add_stray(module)
            return
        if any(id(module) in with_descendants(root) for root in self.roots):
            self.stale = True
            return
        self._roots = [ref for ref in self._roots if ref() is not None and id(ref()) not in inside]
        self._roots.append(weakref.ref(module))
        self.stale = True

    def add_optimizer(self, optimizer: Any) -> None:
        """Note an optimizer that has stepped."""
        if all(ref() is not optimizer for ref in self._optimizers):
            # Programs that make an optimizer for each step would fill the list with dead ones.
            alive = [ref for ref in self._optimizers if ref() is not None]
            self._optimizers = [*alive, weakref.ref(optimizer)]
            self.stale = True

    def find_owners(self) -> None:
        """Look through the heap once for the outermost modules that own parameters being trained.

        Takes 10 to 150 ms under the GIL: at attach only, never per step.
        """
        wanted = {id(p) for o in self.optimizers for group in o.param_groups for p in group["params"]}
        # type(), not isinstance(): the latter asks proxies for __class__, and some of them warn.
        modules = [o for o in gc.get_objects() if issubclass(type(o), torch.nn.Module)]
        children = {id(c) for m in modules for c in m.__dict__.get("_modules", {}).values()}
        for module in modules:
            if id(module) in children or "_parameters" not in module.__dict__:
                continue
            if any(id(p) in wanted for p in module.parameters()):
                self.add_root(module)

    def all_optimizers(self) -> list[Any]:
        """Return every optimizer that is alive, also those that have not stepped yet; as costly as above."""
        return [o for o in gc.get_objects() if issubclass(type(o), torch.optim.Optimizer)]

    def refresh(self) -> None:
        """Collect the names anew if something has changed. At a step boundary."""
        if not self.stale:
            return
        self.stale = False
        self.generation += 1
        self._paths.clear()
        self._parameters.clear()
        self._places.clear()
        self._state_names.clear()
        roots = self.roots
        taken: dict[str, int] = {}
        for root in roots:
            # Not getattr: a __getattr__ of theirs may raise anything.
            kind = type(root.__dict__.get("_modules", {}).get("_orig_mod", root)).__name__
            taken[kind] = taken.get(kind, 0) + 1
            name = kind if taken[kind] == 1 else f"{kind}_{taken[kind]}"
            with contextlib.suppress(Exception):  # what a module of theirs raises leaves it without names
                self._collect(root, "" if len(roots) == 1 else name)
        self._collect_loose()

    def named_tensors(self) -> Iterator[tuple[str, str, Any]]:
        """Yield (name, role, tensor) of every parameter, gradient, optimizer state and buffer.

        Roles are of `schema.ROLES`. Names are dotted module paths, prefixed by the root's name where
        there are several roots; ``.grad`` is appended for gradients, and optimizer state is
        ``<parameter>.exp_avg``.
        """
        for ref, key, name, is_buffer in self._places:
            module = ref()
            if module is None:
                continue
            if is_buffer:
                tensor = module._buffers.get(key)
                if tensor is not None:
                    yield name, "buffer", tensor
                continue
            tensor = module._parameters.get(key)
            if tensor is not None:
                yield from _with_grad(name, tensor)
        for ref, name in self._loose:
            tensor = ref()
            if tensor is not None:
                yield from _with_grad(name, tensor)
        yield from self._optimizer_state()

    def module_path(self, module: Any) -> str:
        """Return the dotted path of `module`, its class name if it belongs to no root."""
        found = self._paths.get(id(module)) or self._strays.get(id(module))
        if found is not None and found[0]() is module:
            return found[1]
        # Made after the names were collected, perhaps: they are collected again, but once only.
        self._add_stray(module)
        self.stale = True
        return type(module).__name__

    def parameter_name(self, tensor: Any) -> str:
        """Return the name of a parameter, ``""`` if it is none of ours."""
        found = self._parameters.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else ""

    def _add_stray(self, module: Any) -> None:
        if len(self._strays) >= _MAX_STRAYS:
            self._strays.clear()
        self._strays[id(module)] = (weakref.ref(module), type(module).__name__)

    def _collect(self, root: Any, prefix: str) -> None:
        strip = len(_WRAPPERS.get(type(root).__name__, ""))
        for dotted, module in root.named_modules():
            path = dotted[strip:]
            full = f"{prefix}.{path}" if prefix and path else prefix or path
            ref = weakref.ref(module)
            self._paths[id(module)] = (ref, full)
            before = f"{full}." if full else ""
            for key, tensor in module._parameters.items():
                if tensor is not None and id(tensor) not in self._parameters:
                    self._parameters[id(tensor)] = (weakref.ref(tensor), before + key)
                    self._places.append((ref, key, before + key, False))
            self._places += [(ref, key, before + key, True) for key in module._buffers]

    def _collect_loose(self) -> None:
        """Parameters that an optimizer trains and no module owns."""
        self._loose.clear()
        for optimizer in self.optimizers:
            for g, group in enumerate(optimizer.param_groups):
                for i, tensor in enumerate(group["params"]):
                    if id(tensor) not in self._parameters:
                        name = f"{type(optimizer).__name__}.params.{g}.{i}"
                        self._parameters[id(tensor)] = (weakref.ref(tensor), name)
                        self._loose.append((weakref.ref(tensor), name))

    def _optimizer_state(self) -> Iterator[tuple[str, str, Any]]:
        names = self._state_names
        for optimizer in self.optimizers:
            for parameter, state in optimizer.state.items():
                if not isinstance(state, dict):
                    continue
                for key, value in state.items():
                    if isinstance(value, torch.Tensor):
                        place = (id(parameter), key)
                        name = names.get(place)
                        if name is None:
                            owner = self.parameter_name(parameter) or type(optimizer).__name__
                            name = names[place] = f"{owner}.{key}"
                        yield name, "optimizer_state", value


def _with_grad(name: str, tensor: Any) -> Iterator[tuple[str, str, Any]]:
    yield name, "parameter", tensor
    grad = tensor.grad if tensor.is_leaf else None
    if grad is not None:
        yield f"{name}.grad", "gradient", grad


def with_descendants(module: Any) -> dict[int, Any]:
    """Return `module` and all below it by id. Not through its methods, which may be overridden."""
    found: dict[int, Any] = {}
    waiting = [module]
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in found:
            found[id(one)] = one
            waiting += one.__dict__.get("_modules", {}).values()
    return found
