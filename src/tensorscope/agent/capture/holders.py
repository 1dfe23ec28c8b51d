"""Who holds a block: the tensors in it, the names and containers that lead to them, the graph that saved it.

Everything is read at a step boundary in the training thread, within a bound of time, and nothing is
kept: no reference to an object of the program outlives the call.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from typing import Any

import torch

from tensorscope.agent.capture.holder_paths import HolderPaths
from tensorscope.agent.capture.labels import storage_of
from tensorscope.agent.context import Context
from tensorscope.core.errors import TensorScopeError

MOST_ADDRESSES = 64
BUDGET_NS = 500_000_000
"""How long the program may be kept waiting, once, because somebody asked."""
MAX_TENSORS, MAX_HOLDERS = 16, 24
MAX_NODES = 20_000
"""Of autograd graphs, in one request: see `stack_room.FREED_SAFELY`."""
_RAW = "_raw_saved_"
_KINDS = {
    "parameter": "parameter",
    "gradient": "grad",
    "optimizer_state": "optimizer_state",
    "buffer": "buffer",
}


def find_holders(context: Context, args: dict[str, Any]) -> dict[str, Any]:
    """Return who holds the blocks at ``args["addresses"]``, for the reply to the window.

    Returns
    -------
    dict
        blocks: one entry an address, with size_bytes (0 if no tensor lies there), tensors (shape, dtype,
        name, grad_fn) and holders (kind, text); truncated: whether the time or a bound ran out; took_ns.

    Raises
    ------
    TensorScopeError
        If the addresses are no list of whole numbers.
    """
    addresses = args.get("addresses")
    if not isinstance(addresses, list) or not all(type(one) is int for one in addresses):
        raise TensorScopeError("holders needs addresses: a list of whole numbers.")
    search = _Search(context, addresses[:MOST_ADDRESSES])
    try:
        return search.run(len(addresses) > MOST_ADDRESSES)
    finally:
        search.forget()


class _Search:
    def __init__(self, context: Context, addresses: list[int]) -> None:
        self.context = context
        self.begun = time.perf_counter_ns()
        self.blocks: dict[int, dict[str, Any]] = {
            address: {"address": address, "size_bytes": 0, "tensors": [], "holders": []}
            for address in addresses
        }
        self.found: dict[int, list[Any]] = {address: [] for address in addresses}
        self.truncated = False

    def run(self, cut: bool) -> dict[str, Any]:
        self.truncated = cut
        names = self._named()
        with_graph = self._scan()
        self._saved(with_graph)
        del with_graph[:]
        self._paths(names)
        for block in self.blocks.values():
            if not block["holders"]:
                block["holders"].append(self._nobody(block))
        took = time.perf_counter_ns() - self.begun
        return {"blocks": list(self.blocks.values()), "truncated": self.truncated, "took_ns": took}

    def forget(self) -> None:
        self.found.clear()

    def _late(self) -> bool:
        if time.perf_counter_ns() - self.begun > BUDGET_NS:
            self.truncated = True
            return True
        return False

    def _hold(self, address: int, kind: str, text: str) -> None:
        holders = self.blocks[address]["holders"]
        entry = {"kind": kind, "text": text}
        if entry not in holders:
            if len(holders) < MAX_HOLDERS:
                holders.append(entry)
            else:
                self.truncated = True

    def _named(self) -> dict[int, str]:
        """Return the names of tensors by id, and note those in the blocks."""
        names: dict[int, str] = {}
        for name, role, tensor in self.context.program.named_tensors():
            storage = storage_of(tensor)
            if storage is None or storage.data_ptr() not in self.blocks:
                continue
            names[id(tensor)] = name
            self._hold(storage.data_ptr(), _KINDS.get(role, role), _named_text(role, name))
        return names

    def _scan(self) -> list[Any]:
        """Find the tensors in the blocks, and those that a graph hangs on, among all objects of Python."""
        with_graph: list[Any] = []
        for one in gc.get_objects():
            # type(), not isinstance(): the latter asks proxies for __class__, and some of them warn.
            if not issubclass(type(one), torch.Tensor):
                continue
            if self._late():
                break
            try:
                if one.grad_fn is not None:
                    with_graph.append(one)
                storage = storage_of(one)
            except RuntimeError:  # freed, or of a kind that has none
                continue
            found = self.found.get(storage.data_ptr()) if storage is not None else None
            if found is not None and storage is not None:
                self.blocks[storage.data_ptr()]["size_bytes"] = storage.nbytes()
                found.append(one) if len(found) < MAX_TENSORS else self._cut()
        return with_graph

    def _cut(self) -> None:
        self.truncated = True

    def _saved(self, with_graph: list[Any]) -> None:
        """Look through the graphs that are alive for nodes that saved one of the blocks."""
        seen: set[Any] = set()
        waiting = [tensor.grad_fn for tensor in with_graph]
        while waiting:
            node = waiting.pop()
            if node is None or node in seen:
                continue
            if len(seen) >= MAX_NODES or self._late():
                self.truncated = True
                break
            seen.add(node)
            for tensor in _saved_by(node):
                storage = storage_of(tensor)
                if storage is not None and storage.data_ptr() in self.blocks:
                    self.blocks[storage.data_ptr()]["size_bytes"] = storage.nbytes()
                    self._hold(storage.data_ptr(), "saved_tensor", f"saved for backward by {node.name()}")
            waiting += [child for child, _ in node.next_functions]

    def _paths(self, names: dict[int, str]) -> None:
        """Describe each tensor, and follow who refers to it up to a name that somebody can find."""
        targets: list[Any] = []
        places: list[int] = []
        for address, tensors in self.found.items():
            for tensor in tensors:
                name = names.get(id(tensor), "")
                self.blocks[address]["tensors"].append(_described(tensor, name))
                if not name:
                    targets.append(tensor)
                    places.append(address)
        if not targets:
            return
        paths = HolderPaths(self._late)
        lists = (targets, self.found, *self.found.values())
        for address, ways in zip(places, paths.of_all(targets, lists), strict=True):
            for kind, text in ways:
                self._hold(address, kind, text)
        del targets[:]
        paths.forget()

    def _nobody(self, block: dict[str, Any]) -> dict[str, str]:
        if block["tensors"]:
            return {"kind": "none", "text": "a tensor that only C++ refers to (another thread, or a graph)"}
        return {
            "kind": "none",
            "text": "no object of Python: it was freed meanwhile, or C++ holds it (a graph, or a workspace)",
        }


def _named_text(role: str, name: str) -> str:
    words = {"optimizer_state": "optimizer state", "gradient": "gradient"}
    return f"{words.get(role, role)} {name}"


def _described(tensor: Any, name: str) -> dict[str, Any]:
    grad_fn = tensor.grad_fn
    return {
        "shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch."), "name": name,
        "grad_fn": "" if grad_fn is None else grad_fn.name(),
    }  # fmt: skip


def _saved_by(node: Any) -> Iterator[Any]:
    """Yield what a node has saved, by the readers that run nothing."""
    for name in dir(node):
        if not name.startswith(_RAW):
            continue
        try:
            raw = getattr(node, name)
            for one in raw if type(raw) is tuple else (raw,):
                data = one.data
                if issubclass(type(data), torch.Tensor):
                    yield data
        except RuntimeError:
            continue  # freed already
