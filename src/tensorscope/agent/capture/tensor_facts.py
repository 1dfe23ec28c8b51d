"""What a tensor is, without its values: the rows of a ``tensors`` record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from tensorscope.agent.context import Context, column
from tensorscope.core.wire import Column

PLAIN = frozenset((torch.Tensor, torch.nn.Parameter))
"""Types that answer every question in the ordinary way."""
NO_NUMBER = 1 << 62
"""Autograd sequence numbers from here on mean that there is none."""


class Facts(NamedTuple):
    """One tensor as it was when it was looked at. `dtype` and `grad_fn` are string ids."""

    dtype: int
    device: int
    itemsize_bytes: int
    sizes: Sequence[int]
    strides: Sequence[int]
    offset: int
    storage: int
    storage_bytes: int
    requires_grad: bool
    is_leaf: bool
    grad_fn: int
    version: int
    made_by: int
    """Sequence number of grad_fn, -1 for leaves."""


class FactFinder:
    """Looks at tensors of any kind and keeps none. Call it with torch function modes off."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._dtypes: dict[torch.dtype, tuple[int, int]] = {}

    def of(self, tensor: Any) -> Facts:
        """Return what `tensor` is; where it has no storage or strides (sparse, meta, nested …), zeros."""
        try:
            return self._look(tensor, *_layout(tensor))
        except (RuntimeError, NotImplementedError, TypeError, AttributeError, ValueError):
            return self.absent(type(tensor).__name__)  # a subclass that answers nothing

    def _look(self, tensor: Any, sizes: Sequence[int], strides: Sequence[int], offset: int) -> Facts:
        address, size_bytes = storage_of(tensor)
        dtype, grad_fn = tensor.dtype, tensor.grad_fn
        name, made_by = 0, -1
        if grad_fn is not None:
            name, made_by = self._context.string(short_name(grad_fn.name())), signed(grad_fn._sequence_nr())
        version = -1 if tensor.is_inference() else tensor._version
        return Facts(
            self.dtype(dtype), device_of(tensor), dtype.itemsize, sizes, strides, offset, address, size_bytes,
            tensor.requires_grad, tensor.is_leaf, name, version, made_by,
        )  # fmt: skip

    def of_saved(self, tensor: Any) -> Facts:
        """Return what a plain tensor is that a node has saved; without grad_fn, which costs a third."""
        try:
            storage = tensor.untyped_storage()
            dtype, itemsize = self._dtypes[tensor.dtype]
            fields = (
                dtype, -1 if tensor.is_cpu else device_of(tensor), itemsize, tensor.shape,
                tensor.stride(), tensor.storage_offset(), storage.data_ptr(), storage.nbytes(),
                tensor.requires_grad, tensor.is_leaf, 0, tensor._version, -1,
            )  # fmt: skip
        except (RuntimeError, NotImplementedError, KeyError):  # sparse, nested …; a dtype not yet seen
            return self.of(tensor)
        return tuple.__new__(Facts, fields)  # half the time of Facts(...), and there are many

    def absent(self, kind: str) -> Facts:
        """Return the row of something that is no tensor now; `kind` says what stands in its place."""
        return Facts(self._context.string(kind), -1, 0, (), (), 0, 0, 0, False, False, 0, 0, -1)

    def dtype(self, dtype: torch.dtype) -> int:
        """Return the string id of a dtype's short name."""
        found = self._dtypes.get(dtype)
        if found is None:
            name = self._context.string(str(dtype).removeprefix("torch."))
            found = self._dtypes[dtype] = (name, dtype.itemsize)
        return found[0]


class TensorRows:
    """A ``tensors`` record in the making."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, int, int, int, bool, Facts]] = []
        self._taken: set[tuple[int, int]] = set()

    def add(
        self, name: int, role: int, facts: Facts, module: int = 0, node: int = -1, trained: bool = False
    ) -> None:
        """Append a row, unless there is one with this name and role; `trained` by an optimizer."""
        if (name, role) not in self._taken:
            self._taken.add((name, role))
            self._rows.append((name, role, module, node, trained, facts))

    def columns(self) -> dict[str, Column]:
        """Return the columns of the record."""
        columns = zip(*self._rows, strict=True) if self._rows else ((),) * 6
        names, roles, modules, nodes, trained, facts = columns
        fields = zip(*facts, strict=True) if facts else ((),) * len(Facts._fields)
        (dtype, device, itemsize, sizes, strides, offset, storage, storage_bytes, requires_grad, is_leaf,
         grad_fn, version, _) = fields  # fmt: skip
        return {
            "name": column("u4", names), "role": column("u1", roles), "dtype": column("u4", dtype),
            "device": column("i2", device), "itemsize_bytes": column("u1", itemsize),
            "ndim": column("u1", [len(one) for one in sizes]),
            "sizes_elems": column("i8", [size for one in sizes for size in one]),
            "strides_elems": column("i8", [stride for one in strides for stride in one]),
            "offset_elems": column("i8", offset), "storage": column("u8", storage),
            "storage_bytes": column("i8", storage_bytes), "requires_grad": column("u1", requires_grad),
            "is_leaf": column("u1", is_leaf), "grad_fn": column("u4", grad_fn),
            "version": column("i4", version), "module": column("u4", modules), "node": column("i4", nodes),
            "trained": column("u1", map(int, trained)),
        }  # fmt: skip


def storage_of(tensor: Any) -> tuple[int, int]:
    """Return (address, bytes) of a tensor's storage, (0, 0) where it has none to show."""
    try:
        storage = tensor.untyped_storage()
        address = storage.data_ptr()
        return (address, storage.nbytes()) if address else (0, 0)
    except (RuntimeError, NotImplementedError, AttributeError, TypeError):
        return 0, 0  # sparse, fake, functional, wrapper subclasses


def signed(number: int) -> int:
    """Return an autograd sequence number, -1 for the highest ones, which mean that there is none."""
    return number if number < NO_NUMBER else -1


def short_name(name: str) -> str:
    """Return a node's name without its C++ namespace."""
    return name.rpartition("::")[2]


def device_of(tensor: Any) -> int:
    """Return the CUDA index, -1 for all other devices."""
    return tensor.get_device() if tensor.is_cuda else -1


def _layout(tensor: Any) -> tuple[Sequence[int], Sequence[int], int]:
    """Return sizes, strides and offset; strides are 0 where a tensor has none."""
    try:
        sizes = tuple(map(int, tensor.shape))
    except (RuntimeError, NotImplementedError, TypeError):
        return (), (), 0  # nested: rows of different lengths
    try:
        return sizes, tuple(map(int, tensor.stride())), int(tensor.storage_offset())
    except (RuntimeError, NotImplementedError, TypeError):
        return sizes, (0,) * len(sizes), 0
