"""What every foreign memory file is turned into before it becomes frames."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from tensorscope.readers.interning import Stacks, Strings

Columns = dict[str, NDArray[Any]]

UNTIMED_NS = 1000
"""Distance of two events of a file without times: one microsecond each, counted from 0."""


@dataclass
class AllocatorFile:
    """Columns as core/schema.py has them; what a format does not know stays empty.

    Attributes
    ----------
    recorder
        ``cuda-snapshot``, ``kineto`` or ``memory-timeline``.
    strings, stacks
        Numbers in the columns refer to them.
    origin_ns
        Clock of the first moment.
    ordered
        ``time``, or ``event`` where times are event numbers.
    notes
        What a person must know about the data: what is missing, what was inferred.
    unknown
        Keys and actions that nobody knew, with counts.
    """

    recorder: str
    strings: Strings = field(default_factory=Strings)
    stacks: Stacks = field(init=False)
    origin_ns: int = 0
    ordered: str = "time"
    devices: list[dict[str, int]] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unknown: dict[str, int] = field(default_factory=dict)
    torch: str = ""
    baseline: Columns = field(default_factory=dict)
    alloc: Columns = field(default_factory=dict)
    trace: Columns = field(default_factory=dict)
    annotation: Columns = field(default_factory=dict)
    segments: Columns = field(default_factory=dict)
    step: Columns = field(default_factory=dict)
    phase: Columns = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.stacks = Stacks(self.strings)

    def count_unknown(self, name: str, count: int = 1) -> None:
        """Remember something that the format's description does not have."""
        if name in self.unknown or len(self.unknown) < 100:
            self.unknown[name] = self.unknown.get(name, 0) + count
