"""What is installed in torch, and how it is taken out again. Nothing else of torch is patched here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import (
    _global_optimizer_post_hooks,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from tensorscope.agent.capture.backward_call import BackwardCall


class Listener(Protocol):
    """Who is told. No method may raise."""

    def optimizer_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """`Optimizer.step` was called."""

    def optimizer_ends(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """`Optimizer.step` is about to return: the step boundary."""

    def backward_begins(self, call: BackwardCall) -> None:
        """The autograd engine is called."""

    def backward_ends(self, call: BackwardCall, error: BaseException | None) -> None:
        """The autograd engine has returned, or raised `error`."""


class Hooks:
    """Installs hooks in two groups.

    `install_base` may run at any moment: an optimizer's post hook and a wrapper around the engine
    need no partner. `install_pairs` must run where no forward and no optimizer step is under way.
    `enter` and `leave` hear of every module's forward.
    """

    def __init__(
        self, listener: Listener, enter: Callable[[Any, Any], None], leave: Callable[[Any, Any, Any], None]
    ) -> None:
        self._listener = listener
        self._enter = enter
        self._leave = leave
        self._base: list[Any] = []
        self._pairs: list[Any] = []
        self._modules: list[Any] = []
        self._removing = False
        self._wrapper: Callable[..., Any] | None = None
        self._original: Callable[..., Any] | None = None

    @property
    def follows_modules(self) -> bool:
        """Whether the forward hooks are installed."""
        return bool(self._modules)

    def install_base(self) -> None:
        """Install what sees step boundaries and backward."""
        if not self._base:
            self._base.append(register_optimizer_step_post_hook(self._listener.optimizer_ends))
            self._wrap_engine()

    def install_pairs(self, modules: bool) -> None:
        """Install, or with `modules` False take out, what comes in pairs."""
        if not self._pairs:
            self._pairs.append(register_optimizer_step_pre_hook(self._listener.optimizer_begins))
        if modules and not self._modules:
            self._modules.append(register_module_forward_pre_hook(self._enter))
            hook = register_module_forward_hook(self._leave, always_call=True)
            self._modules.append(hook)
        elif not modules:
            self.remove_modules()

    def remove_modules(self) -> None:
        """Take out the forward hooks."""
        _remove(self._modules)

    def remove_pairs(self) -> None:
        """Take out what comes in pairs."""
        _remove(self._pairs)
        self.remove_modules()

    def remove(self) -> None:
        """Take out everything that is ours."""
        self.remove_pairs()
        if self._base and not _is_last(self._base[0]):
            # torch may be walking over its hooks, with us among them, and a removal would break that
            # walk. An empty function takes our place until the next backward.
            _global_optimizer_post_hooks[self._base[0].id] = _nothing
            self._removing = True
            return
        _remove(self._base)
        self._unwrap_engine()

    def _wrap_engine(self) -> None:
        original = self._original = torch.autograd._engine_run_backward
        listener = self._listener

        def _engine_run_backward(roots: Any, *args: Any, **kwargs: Any) -> Any:
            if self._removing:
                self._removing = False
                _remove(self._base)
                self._unwrap_engine()
                return original(roots, *args, **kwargs)
            call = _call_of(roots, args, kwargs)
            listener.backward_begins(call)
            try:
                found = original(roots, *args, **kwargs)
            except BaseException as error:
                # Our frame has no place in the user's traceback.
                error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
                listener.backward_ends(call, error)
                raise
            listener.backward_ends(call, None)
            return found

        self._wrapper = torch.autograd._engine_run_backward = _engine_run_backward

    def _unwrap_engine(self) -> None:
        # Somebody else may have wrapped ours since: theirs stays, and calls through a listener that sleeps.
        if self._wrapper is not None and torch.autograd._engine_run_backward is self._wrapper:
            torch.autograd._engine_run_backward = self._original
        self._wrapper = self._original = None


def _call_of(roots: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> BackwardCall:
    """Return what the engine is asked for: (gradients, keep_graph, create_graph, ...) follow the roots."""
    keep, create = (*map(bool, args[1:3]), False, False)[:2]
    return BackwardCall(tuple(roots), keep, create, bool(kwargs.get("accumulate_grad")))


def _remove(handles: list[Any]) -> None:
    for handle in handles:
        handle.remove()
    handles.clear()


def _nothing(optimizer: Any, args: Any, kwargs: Any) -> None:
    """Stand in a hook's place."""


def _is_last(handle: Any) -> bool:
    return not _global_optimizer_post_hooks or next(reversed(_global_optimizer_post_hooks)) == handle.id
