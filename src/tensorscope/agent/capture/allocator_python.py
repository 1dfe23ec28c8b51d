"""The recorder that needs no compiler: a dispatch mode sees new storages, weak references their end."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tensorscope.agent.capture.labels import Labels, storage_of
from tensorscope.agent.capture.ledger import Ledger, Rows

_MAX_EVENTS = 1 << 17
_MEMORY, _FORWARD_BEGIN, _FORWARD_END, _INPUT, _BACKWARD = range(5)
_BLIND = (
    "It sees the tensors that operators return, not what they allocate and free inside (workspaces), "
    "and it slows training down, small operators most."
)
_COMPILED = (
    "Memory is not recorded: this program uses torch.compile, and without its native recorder TensorScope "
    "would have to make compiled code run uncompiled. Install g++ and start again."
)


class PythonRecorder:
    """Keeps events as the native recorder does, so that the ledger plays them at the step's end."""

    def __init__(self, scope: ctypes.c_uint64, inferred: int, problem: str = "") -> None:
        self._scope = scope
        self._ledger = Ledger()
        self._ledger.inferred = inferred
        self._problem = problem
        self._mode: _StorageMode | None = None
        self._events: list[tuple[int, int, int, int, int, int]] = []
        self._thread = 0
        self._known: dict[int, tuple[Any, int, int, bool]] = {}
        """By StorageImpl: weak reference, address, bytes, whether its allocation was recorded."""

    @property
    def kind(self) -> str:
        """``python``, or ``none`` where it must not run."""
        return "none" if uses_compile() else "python"

    @property
    def note(self) -> str:
        """Why this recorder runs and what it cannot see."""
        if uses_compile():
            return _COMPILED
        return f"The Python memory recorder runs. {self._problem} {_BLIND}".replace("  ", " ")

    @property
    def lost_rows(self) -> int:
        """Rows that were never emitted because there were too many."""
        return self._ledger.lost_rows

    def push(self) -> bool:
        """See this thread's operators from now on; False where compiled code would suffer."""
        if self._mode is None and not uses_compile():
            self._mode = _StorageMode(self)
            self._mode.__enter__()
            self._thread = threading.get_ident()
        return self._mode is not None

    def pop(self) -> bool:
        """See no more; False in another thread than it was pushed in, where modes cannot be left."""
        if self._mode is not None:
            if threading.get_ident() != self._thread:
                return False
            self._mode.__exit__(None, None, None)
            self._mode = None
        return True

    def is_pushed(self) -> bool:
        """Return whether this thread's operators are seen."""
        return self._mode is not None and threading.get_ident() == self._thread

    def enable(self, on: bool) -> None:
        """Record, or let operators pass."""
        if self._mode is not None:
            self._mode.on = on

    def close(self) -> None:
        """Let go of everything."""
        self.pop()
        self._known.clear()
        self._events.clear()

    def reset(self, labels: Labels) -> None:
        """Start the ledger anew with the storages of `labels`."""
        self._events.clear()
        self._known.clear()
        self._ledger.reset(labels)

    def mark_forward(self, begins: bool) -> None:
        """A root module's forward begins, or has ended."""
        self._append(0, 0, 0, _FORWARD_BEGIN if begins else _FORWARD_END)

    def mark_input(self, address: int) -> None:
        """An argument of a root module lies in the block at `address` now."""
        self._append(address, 0, 0, _INPUT)

    def mark_backward(self) -> None:
        """The autograd engine begins to run."""
        self._append(0, 0, 0, _BACKWARD)

    def finish_step(self, labels: Labels | None) -> Rows | None:
        """End the step; return its rows, or None if some were lost. No labels: only totals matter."""
        self._play()
        return self._ledger.finish_step(labels)

    def list_blocks(self, labels: Labels) -> Rows:
        """Return every live block, categories looked at again by `labels`."""
        return self._ledger.list_blocks(labels)

    def totals(self) -> tuple[int, int]:
        """Return live bytes, and the peak of the step that ended last."""
        return self._ledger.totals()

    def out_of_memory(self) -> tuple[int, int, int]:
        """Return nothing: failed allocations are not seen here."""
        return 0, 0, -1

    def see_old(self, tensor: torch.Tensor) -> None:
        """Note that `tensor` exists already: its storage is no allocation of this operator."""
        storage = storage_of(tensor)
        if storage is not None and storage._cdata not in self._known:
            self._remember(storage, storage.data_ptr(), storage.nbytes(), tensor.get_device(), False)

    def see_result(self, tensor: torch.Tensor) -> None:
        """Record the storage of `tensor` if it is new, or has grown or shrunk."""
        storage = storage_of(tensor)
        if storage is None:
            return
        address, size, device = storage.data_ptr(), storage.nbytes(), tensor.get_device()
        known = self._known.get(storage._cdata)
        if known is not None:
            _, old_address, old_size, recorded = known
            if (old_address, old_size) == (address, size):
                return
            if recorded:
                self._append(old_address, -old_size, device)
        if size and address:
            self._append(address, size, device)
            self._remember(storage, address, size, device, True)

    def _remember(self, storage: Any, address: int, size: int, device: int, recorded: bool) -> None:
        key = storage._cdata

        def ended(reference: Any) -> None:
            known = self._known.get(key)
            if known is not None and known[0] is reference:
                del self._known[key]
                if recorded:
                    self._append(address, -size, device)

        self._known[key] = (weakref.ref(storage, ended), address, size, recorded)

    def _append(self, address: int, delta_bytes: int, device: int, kind: int = _MEMORY) -> None:
        self._events.append((time.perf_counter_ns(), address, delta_bytes, device, self._scope.value, kind))

    def fold_if_full(self) -> None:
        """Play events early where a step has very many. Never called from a finaliser."""
        if len(self._events) >= _MAX_EVENTS:
            self._play()

    def _play(self) -> None:
        events, self._events = self._events, []
        ledger = self._ledger
        for t_ns, address, delta_bytes, device, scope, kind in events:
            if kind == _MEMORY:
                ledger.report(t_ns, address, delta_bytes, device, scope)
            elif kind in (_FORWARD_BEGIN, _FORWARD_END):
                ledger.mark_forward(kind == _FORWARD_BEGIN)
            elif kind == _INPUT:
                ledger.mark_input(address)
            else:
                ledger.mark_backward()


class _StorageMode(TorchDispatchMode):  # type: ignore[misc]
    """Shows each operator's arguments and results to the recorder."""

    def __init__(self, recorder: PythonRecorder) -> None:
        super().__init__()
        self.on = True
        self._recorder = recorder

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__ for kind in types):
            return NotImplemented  # such a tensor dispatches itself; its inner operators come by here
        if not self.on:
            return func(*args, **(kwargs or {}))
        recorder = self._recorder
        for leaf in _tensors_in(args):
            recorder.see_old(leaf)
        if kwargs:
            for leaf in _tensors_in(kwargs.values()):
                recorder.see_old(leaf)
        result = func(*args, **(kwargs or {}))
        for leaf in _tensors_in((result,)):
            recorder.see_result(leaf)
        recorder.fold_if_full()
        return result


def _tensors_in(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    """Yield the tensors among `values` and in lists and tuples of them, as operators take and give."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors_in(value)


def uses_compile() -> bool:
    """Return whether this program has made something with torch.compile."""
    eval_frame = sys.modules.get("torch._dynamo.eval_frame")
    backends = getattr(eval_frame, "cached_backends", {})
    return any(backend is not None for backend in backends.values())
