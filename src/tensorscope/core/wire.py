"""The frame: the only thing that crosses between a target and a window, or goes into a file.

A frame is a 12-byte prefix ``<4sII`` (magic, header bytes, payload bytes), a JSON header and the
raw little-endian bytes of its columns, one after the other. No pickle, in either direction.
Every length is checked against a bound before anything is allocated.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tensorscope.core.errors import ProtocolError

PROTOCOL_VERSION = 1
MAGIC = b"TSF1"
PREFIX = struct.Struct("<4sII")
MAX_HEADER_BYTES = 1 << 20
MAX_PAYLOAD_BYTES = 1 << 26
MAX_COLUMNS = 256
MAX_DIMS = 8
MAX_NAME_CHARS = 64
"""Of a kind."""
ITEM_BYTES = {
    "i1": 1, "u1": 1, "i2": 2, "u2": 2, "i4": 4, "u4": 4, "i8": 8, "u8": 8, "f4": 4, "f8": 8,
}  # fmt: skip
ARRAY_CODES = {
    "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q",
    "f4": "f", "f8": "d",
}  # fmt: skip
"""Type codes of :mod:`array` and :mod:`struct` for each column dtype."""

Buffer = bytes | bytearray | memoryview


@dataclass(frozen=True)
class Column:
    """One array of a frame.

    Attributes
    ----------
    dtype
        A key of `ITEM_BYTES`; always little-endian.
    shape
        Sizes, at most `MAX_DIMS` of them.
    data
        C-contiguous bytes, ``prod(shape) * ITEM_BYTES[dtype]`` of them.
    """

    dtype: str
    shape: tuple[int, ...]
    data: Buffer


@dataclass(frozen=True)
class Frame:
    """One message. `clock_ns` is CLOCK_MONOTONIC of the target, in nanoseconds."""

    kind: str
    step: int = -1
    clock_ns: int = 0
    seq: int = 0
    meta: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, Column] = field(default_factory=dict)


def encode_parts(frame: Frame) -> tuple[bytes, bytes]:
    """Return the JSON header and the payload of `frame`, as they go on the wire and into files.

    Raises
    ------
    ProtocolError
        If a bound would be exceeded, or a column's bytes do not match its shape.
    """
    cols = []
    for name, column in frame.columns.items():
        if len(column.data) != column_bytes(column.dtype, column.shape):
            raise ProtocolError(f"column {name!r} of {frame.kind!r} has the wrong number of bytes")
        cols.append([name, column.dtype, list(column.shape)])
    header = {
        "kind": frame.kind, "seq": frame.seq, "step": frame.step, "clock_ns": frame.clock_ns,
        "meta": frame.meta, "cols": cols,
    }  # fmt: skip
    try:
        text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise ProtocolError(f"frame {frame.kind!r} cannot be written as JSON: {error}") from None
    payload = b"".join(column.data for column in frame.columns.values())
    if len(text) > MAX_HEADER_BYTES or len(payload) > MAX_PAYLOAD_BYTES:
        raise ProtocolError(f"frame {frame.kind!r} is too large to send")
    return text, payload


def encode(frame: Frame) -> bytes:
    """Return the bytes of `frame`, prefix included. Any thread."""
    header, payload = encode_parts(frame)
    return PREFIX.pack(MAGIC, len(header), len(payload)) + header + payload


def decode_parts(header: Buffer, payload: Buffer) -> Frame:
    """Return the frame made of `header` and `payload`; its columns borrow `payload`.

    Raises
    ------
    ProtocolError
        If the header is not what `encode_parts` writes, or the sizes do not add up.
    """
    try:
        head = json.loads(bytes(header), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"frame header is not JSON: {error}") from None
    if not isinstance(head, dict) or not isinstance(head.get("kind"), str):
        raise ProtocolError("frame header has no kind")
    if len(head["kind"]) > MAX_NAME_CHARS or not head["kind"].isascii():
        raise ProtocolError(f"frame header has a bad kind {head['kind'][:40]!r}")
    numbers = [head.get(name) for name in ("seq", "step", "clock_ns")]
    if not all(type(number) is int and -(2**63) <= number < 2**63 for number in numbers):
        raise ProtocolError(f"frame {head['kind']!r} has a bad seq, step or clock_ns")
    meta = head.get("meta")
    if not isinstance(meta, dict):
        raise ProtocolError(f"frame {head['kind']!r} has no meta")
    columns = _decode_columns(head["kind"], head.get("cols"), memoryview(payload))
    seq, step, clock_ns = numbers
    return Frame(head["kind"], step, clock_ns, seq, meta, columns)  # type: ignore[arg-type]


def column_bytes(dtype: str, shape: tuple[int, ...]) -> int:
    """Return the number of bytes of a column, or raise `ProtocolError` if it cannot be one."""
    if dtype not in ITEM_BYTES:
        raise ProtocolError(f"unknown column dtype {dtype!r}")
    if len(shape) > MAX_DIMS:
        raise ProtocolError(f"column has {len(shape)} axes, at most {MAX_DIMS} are allowed")
    total = bound = ITEM_BYTES[dtype]
    for size in shape:
        if type(size) is not int or size < 0:
            raise ProtocolError(f"column has a bad size {str(size)[:40]}")
        total *= size
        bound *= max(size, 1)  # an empty array of huge axes is not one that numpy makes
    if bound > MAX_PAYLOAD_BYTES:
        raise ProtocolError("column is over the bound")
    return total


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _decode_columns(kind: str, cols: Any, payload: memoryview) -> dict[str, Column]:
    if not isinstance(cols, list) or len(cols) > MAX_COLUMNS:
        raise ProtocolError(f"frame {kind!r} has no column list")
    columns: dict[str, Column] = {}
    start = 0
    for entry in cols:
        if not (isinstance(entry, list) and len(entry) == 3 and isinstance(entry[2], list)):
            raise ProtocolError(f"frame {kind!r} has a malformed column entry")
        name, dtype, shape = entry
        if not isinstance(name, str) or not isinstance(dtype, str) or name in columns:
            raise ProtocolError(f"frame {kind!r} has a malformed column entry")
        stop = start + column_bytes(dtype, tuple(shape))
        if stop > len(payload):
            raise ProtocolError(f"frame {kind!r} is shorter than its columns")
        columns[name] = Column(dtype, tuple(shape), payload[start:stop])
        start = stop
    if start != len(payload):
        raise ProtocolError(f"frame {kind!r} has {len(payload) - start} bytes too many")
    return columns


class FrameParser:
    """Cuts a byte stream into frames. Holds at most one frame's bytes; one thread at a time."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: Buffer) -> Iterator[Frame]:
        """Yield the frames that `data` completes.

        Raises
        ------
        ProtocolError
            If the stream is not made of frames; nothing after that point can be trusted.
        """
        self._buffer += data
        while len(self._buffer) >= PREFIX.size:
            magic, header_bytes, payload_bytes = PREFIX.unpack_from(self._buffer)
            if magic != MAGIC:
                raise ProtocolError(f"expected a frame, got bytes {bytes(magic)!r}")
            if header_bytes > MAX_HEADER_BYTES or payload_bytes > MAX_PAYLOAD_BYTES:
                raise ProtocolError(f"frame of {header_bytes}+{payload_bytes} bytes is over the bound")
            stop = PREFIX.size + header_bytes + payload_bytes
            if len(self._buffer) < stop:
                return
            with memoryview(self._buffer) as view:
                header = bytes(view[PREFIX.size : PREFIX.size + header_bytes])
                payload = bytes(view[PREFIX.size + header_bytes : stop])
            del self._buffer[:stop]
            yield decode_parts(header, payload)

    @property
    def pending_bytes(self) -> int:
        """Bytes of a frame that has not ended yet."""
        return len(self._buffer)
