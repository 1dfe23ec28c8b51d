"""Which nodes of a graph a person means by what they type."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from tensorscope.models.graph_data import GraphData

Mask = NDArray[np.bool_]

_TERM = re.compile(r"^(?P<field>[a-z]+)\s*(?P<sign><=|>=|[:<>=])\s*(?P<value>.+)$", re.IGNORECASE)
_NUMBER = re.compile(r"^(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?P<unit>[a-zµ]*)$", re.IGNORECASE)
_TEXTS = {
    "op": ("node_name",), "module": ("node_module",), "param": ("node_param",), "shape": ("node_shape",),
    "dtype": ("node_dtype",), "source": ("node_source",), "line": ("node_source",),
}  # fmt: skip
_ANYWHERE = ("node_name", "node_module", "node_param", "node_shape", "node_source")
_BYTE_UNITS = {"": 1, "b": 1, "k": 1024, "kb": 1024, "kib": 1024, "m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20,
               "g": 1 << 30, "gb": 1 << 30, "gib": 1 << 30}  # fmt: skip
_TIME_UNITS = {"": 1e6, "ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_SIGNS = {
    "<": np.less, ">": np.greater, "=": np.equal, ":": np.greater_equal, "<=": np.less_equal,
    ">=": np.greater_equal,
}  # fmt: skip


def matching(data: GraphData, text: str) -> NDArray[np.int64]:
    """Return the nodes that every word of `text` holds of.

    A plain word is looked for in operation, module, parameter, shape and source line. ``op:addmm``,
    ``module:blocks.3``, ``param:weight``, ``shape:[8,``, ``dtype:bfloat16`` and ``source:train.py`` look in
    one of them; ``bytes>1MiB`` (saved), ``time>0.5ms`` (of backward) and ``norm>10`` (of the gradient that
    it received) compare. A term that cannot be understood is looked for as a plain word.
    """
    found = np.ones(data.count, bool)
    for word in text.split():
        found &= _holds(data, word)
    return np.flatnonzero(found)


def _holds(data: GraphData, word: str) -> Mask:
    term = _TERM.match(word)
    if term is not None:
        field, sign, value = term["field"].lower(), term["sign"], term["value"]
        if field in _TEXTS and sign == ":":
            return _contains(data, _TEXTS[field], value)
        compared = _compared(data, field, sign, value)
        if compared is not None:
            return compared
    return _contains(data, _ANYWHERE, word)


def _contains(data: GraphData, columns: tuple[str, ...], word: str) -> Mask:
    """Look at each different text once."""
    folded = word.casefold()
    ids = [i for i, text in data.all_texts().items() if folded in text.casefold()]
    return np.asarray(np.any([np.isin(data.record.columns[name], ids) for name in columns], axis=0))


def _compared(data: GraphData, field: str, sign: str, value: str) -> Mask | None:
    number = _NUMBER.match(value)
    if number is None:
        return None
    size, unit = float(number["number"]), number["unit"].lower()
    if field in ("bytes", "saved") and unit in _BYTE_UNITS:
        return np.asarray(_SIGNS[sign](data.saved_bytes, size * _BYTE_UNITS[unit]))
    if field == "time" and unit in _TIME_UNITS:
        timed = data.backward_ns >= 0
        return np.asarray(timed & _SIGNS[sign](data.backward_ns, size * _TIME_UNITS[unit]))
    if field == "norm" and not unit and data.grad_norm is not None:
        with np.errstate(invalid="ignore"):
            return np.asarray(_SIGNS[sign](data.grad_norm, size) & np.isfinite(data.grad_norm))
    return None
