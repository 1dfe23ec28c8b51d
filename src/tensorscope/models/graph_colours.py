"""What the fill of each box says: a number from little to much, or which of a few classes it is of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorscope.compute.graph_condense import CLUSTER
from tensorscope.models.graph_data import short_name
from tensorscope.models.graph_model import GraphPicture

PLAIN, BY_BYTES, BY_TIME, BY_GRADIENT, BY_MODULE, BY_OP = range(6)
SHADES = 7
"""Fills from nothing to most; shade 0 is the background."""
MAX_CLASSES = 7
"""More are drawn as "others", in grey."""
_OF_KIND = {
    "matmul": "Mm Addmm Bmm Baddbmm Mv Dot Linear MkldnnLinear Embedding",
    "convolution": "Convolution ConvolutionOverrideable SlowConv2D MkldnnConvolution MaxPool2DWithIndices "
    "AvgPool2D AdaptiveAvgPool2D",
    "attention": "ScaledDotProductFlashAttention ScaledDotProductFlashAttentionForCpu "
    "ScaledDotProductEfficientAttention ScaledDotProductCudnnAttention Softmax",
    "normalisation": "NativeLayerNorm NativeBatchNorm NativeGroupNorm CudnnBatchNorm FusedRmsNorm LogSoftmax",
    "activation": "Relu Gelu Silu Sigmoid Tanh LeakyRelu Elu Mish Hardtanh Hardswish Softplus NativeDropout "
    "Dropout",
    "elementwise": "Add Sub Mul Div Pow Exp Log Sqrt Rsqrt Neg Where Clamp Abs Sum Mean NllLoss MseLoss",
    "shape": "View UnsafeView ReshapeAlias Transpose T Permute Expand Slice Select Split Cat Stack Unbind "
    "Squeeze Unsqueeze Clone ToCopy To AsStrided CopySlices Index",
    "other": "",
}
OP_KINDS = tuple(_OF_KIND)
_KIND_OF = {op: OP_KINDS.index(kind) for kind, ops in _OF_KIND.items() for op in ops.split()}


@dataclass(frozen=True, eq=False)
class Fills:
    """The shade (0 to `SHADES` - 1) or class of every item, and the names of the classes.

    Attributes
    ----------
    index
        By item; for classes, ``len(names)`` stands for none of them.
    names
        Of classes, empty for shades.
    low, high
        What the least and the most shade stand for; NaN for classes.
    """

    index: NDArray[np.int64]
    names: tuple[str, ...] = ()
    low: float = float("nan")
    high: float = float("nan")


def fills_of(picture: GraphPicture, colour_by: int) -> Fills:
    """Return the fills of all items."""
    if colour_by == BY_MODULE:
        return _modules(picture)
    if colour_by == BY_OP:
        return _operations(picture)
    if colour_by == BY_GRADIENT:
        return _gradients(picture)
    if colour_by == PLAIN or not picture.count:
        return Fills(np.zeros(picture.count, np.int64))
    values = picture.saved_bytes if colour_by == BY_BYTES else picture.backward_ns
    boxes = np.array(picture.shown.kind) != CLUSTER
    most = float(values[boxes].max()) if boxes.any() else 0.0
    shares = np.sqrt(np.clip(values / max(most, 1.0), 0, 1))  # a square root, so that little is seen, too
    return Fills(np.ceil(shares * (SHADES - 1)).astype(np.int64), (), 0.0, most)


def _gradients(picture: GraphPicture) -> Fills:
    """Shade by the largest gradient norm inside, on a scale of powers of ten: gradients span many."""
    norms = picture.data.grad_norm
    nothing = np.zeros(picture.count, np.int64)
    if norms is None:
        return Fills(nothing)
    largest = np.full(picture.count, np.nan)
    by_place = norms[picture.data.outline.order]
    for item in range(picture.count):
        start, stop = picture.span(item)
        part = by_place[start:stop]
        known = part[np.isfinite(part) & (part > 0)]
        if len(known):
            largest[item] = known.max()
    known = np.isfinite(largest)
    if not known.any():
        return Fills(nothing)
    logs = np.log10(largest[known])
    low, high = float(logs.min()), float(logs.max())
    nothing[known] = 1 + np.round((SHADES - 2) * (logs - low) / max(high - low, 1e-9)).astype(np.int64)
    return Fills(nothing, (), 10**low, 10**high)


def _modules(picture: GraphPicture) -> Fills:
    """Class by the first module on the way down at which the graph parts."""
    paths = [picture.module(item).split(".") for item in range(picture.count)]
    depth = 1
    while depth < 4 and len({tuple(path[:depth]) for path in paths if path != [""]}) < 2:
        depth += 1
    heads = [".".join(path[:depth]) for path in paths]
    sizes: dict[str, int] = {}
    for item, head in enumerate(heads):
        start, stop = picture.span(item)
        sizes[head] = sizes.get(head, 0) + (stop - start if picture.shown.kind[item] != CLUSTER else 0)
    ranked = sorted((head for head in sizes if head), key=lambda head: (-sizes[head], head))[:MAX_CLASSES]
    number = {head: i for i, head in enumerate(ranked)}
    return Fills(np.array([number.get(head, len(ranked)) for head in heads], np.int64), tuple(ranked))


def _operations(picture: GraphPicture) -> Fills:
    """Class by the kind of most operations inside."""
    data = picture.data
    kind_of = {i: _kind(text) for i, text in data.all_texts().items()}
    kinds = np.array([kind_of[i] for i in data.record.columns["node_name"].tolist()], np.int64)
    by_place = kinds[data.outline.order]
    found = np.empty(picture.count, np.int64)
    for item in range(picture.count):
        start, stop = picture.span(item)
        counts = np.bincount(by_place[start:stop], minlength=len(OP_KINDS))
        counts[OP_KINDS.index("shape")] = min(1, counts[OP_KINDS.index("shape")])  # views hide the work
        found[item] = counts.argmax()
    return Fills(np.minimum(found, len(OP_KINDS) - 1), OP_KINDS[:-1])


def _kind(name: str) -> int:
    return _KIND_OF.get(short_name(name), len(OP_KINDS) - 1)
