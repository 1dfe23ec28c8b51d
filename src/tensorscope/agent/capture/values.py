"""A window of the values of one tensor, copied at a step boundary."""

from __future__ import annotations

import math
from array import array
from typing import Any

import torch

from tensorscope.agent.context import Context
from tensorscope.core.wire import Column, Frame

MAX_SIDE_ELEMS = 256


class ValuesError(Exception):
    """Values cannot be shown; the text is for the person."""


def read_values(context: Context, args: dict[str, Any]) -> Frame:
    """Return a ``values`` frame of the part that `args` names; its meta says why where there is none.

    Parameters
    ----------
    args
        tensor: a name of `Program.named_tensors`; axes: which axes are rows and columns ([], [c] or
        [r, c], by default the last two); start: the first row and column; shape: how many of each
        (at most 256); index: positions on the other axes, in their order (0 by default).
    """
    meta: dict[str, Any] = {
        "id": args.get("id", 0), "ok": False, "error": None, "tensor": str(args.get("tensor", "")),
        "dtype": "", "shape": [], "axes": [], "start": [0, 0], "complete": False,
    }  # fmt: skip
    data = Column("f8", (0, 0), b"")
    try:
        tensor = _find(context, meta["tensor"])
        data = _copy(tensor, args, meta)
        meta["ok"] = True
    except ValuesError as error:
        meta["error"] = str(error)
    except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
        meta["error"] = f"The values of {meta['tensor']!r} cannot be read: {error}"
    return Frame("values", context.step, meta=meta, columns={"data": data})


def _find(context: Context, name: str) -> Any:
    for known, _, tensor in context.program.named_tensors():
        if known == name:
            return tensor
    if name.endswith(".grad"):
        raise ValuesError(
            f"{name!r} has no values now: gradients are freed or not yet made at this boundary."
        )
    raise ValuesError(
        f"{name!r} is no parameter, gradient, buffer or optimizer state. Inputs, activations and saved "
        "tensors no longer exist when a step has ended."
    )


def _copy(tensor: Any, args: dict[str, Any], meta: dict[str, Any]) -> Column:
    meta["dtype"] = str(tensor.dtype).removeprefix("torch.")
    with torch.no_grad(), torch._C.DisableTorchFunction():
        if tensor.is_meta:
            raise ValuesError(f"{meta['tensor']!r} is on the meta device: it has no values.")
        if tensor.layout is not torch.strided or tensor.is_nested:
            raise ValuesError(f"{meta['tensor']!r} is sparse or nested; only strided tensors can be shown.")
        sizes = meta["shape"] = list(tensor.shape)
        axes = _axes(args.get("axes"), len(sizes))
        start, counts = _ranges(args, [sizes[axis] for axis in axes])
        meta["axes"], meta["start"] = axes, start
        part = _part(tensor.detach(), axes, start, counts, _index(args.get("index"), sizes, axes))
        if part.is_quantized:
            part = part.dequantize()
        if part.is_complex():
            part = part.abs()
        flat = part.to("cpu", torch.float64).reshape(-1).tolist()
    meta["complete"] = math.prod(counts) == math.prod(sizes)
    return Column("f8", (counts[0], counts[1]), array("d", flat).tobytes())


def _axes(wanted: Any, ndim: int) -> list[int]:
    if wanted is None:
        return list(range(ndim))[-2:]
    fine = isinstance(wanted, (list, tuple)) and len(wanted) <= 2
    if not fine or any(type(axis) is not int or not 0 <= axis < ndim for axis in wanted):
        raise ValuesError(f"axes {wanted!r} are not one or two of the {ndim} axes of this tensor.")
    if len(set(wanted)) != len(wanted):
        raise ValuesError("Rows and columns must be different axes.")
    return list(wanted)


def _ranges(args: dict[str, Any], sizes: list[int]) -> tuple[list[int], list[int]]:
    """Return (start, count) for rows and columns, clipped to the tensor and to the bound."""
    sizes = [1] * (2 - len(sizes)) + sizes
    start, counts = args.get("start") or [0, 0], args.get("shape") or [MAX_SIDE_ELEMS] * 2
    for pair in (start, counts):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or any(type(n) is not int for n in pair):
            raise ValuesError("start and shape must be two whole numbers each.")
    begin = [min(max(at, 0), size) for at, size in zip(start, sizes, strict=True)]
    length = [
        max(0, min(count, MAX_SIDE_ELEMS, size - at))
        for at, count, size in zip(begin, counts, sizes, strict=True)
    ]
    return begin, length


def _index(wanted: Any, sizes: list[int], axes: list[int]) -> list[int]:
    others = [axis for axis in range(len(sizes)) if axis not in axes]
    index = list(wanted) if isinstance(wanted, (list, tuple)) else [0] * len(others)
    if len(index) != len(others):
        raise ValuesError(f"index needs {len(others)} positions, one for each axis that is not shown.")
    for at, axis in zip(index, others, strict=True):
        if type(at) is not int or not 0 <= at < sizes[axis]:
            raise ValuesError(f"Position {at!r} is outside axis {axis}, which has {sizes[axis]} elements.")
    return index


def _part(tensor: Any, axes: list[int], start: list[int], counts: list[int], index: list[int]) -> Any:
    """Return the wanted rows and columns as a view with rows first."""
    places: list[Any] = []
    fixed = iter(index)
    for axis in range(tensor.dim()):
        if axis in axes:
            at = axes.index(axis) + 2 - len(axes)
            places.append(slice(start[at], start[at] + counts[at]))
        else:
            places.append(next(fixed))
    part = tensor[tuple(places)]
    return part.transpose(0, 1) if len(axes) == 2 and axes[0] > axes[1] else part
