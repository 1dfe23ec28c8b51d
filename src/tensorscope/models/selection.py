"""What is selected, in every view at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Selection:
    """One thing, by every id under which a view may know it. Empty fields are unknown.

    Attributes
    ----------
    tensor
        Name of a row of the ``tensors`` record.
    storage
        Storage address, which is also a memory block's address; 0 if none.
    node
        Index in the ``graph`` record of the deep step, -1 if none.
    module
        Dotted module path, None if none ("" is the root module).
    alloc_row
        Row of the ``alloc`` table, -1 if none.
    """

    tensor: str = ""
    storage: int = 0
    node: int = -1
    module: str | None = None
    alloc_row: int = -1


NOTHING = Selection()
