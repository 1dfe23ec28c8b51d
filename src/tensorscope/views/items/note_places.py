"""Places for short texts near points of a chart, none on top of another."""

from __future__ import annotations

Note = tuple[float, float, float, float]
"""Where a text lies: x0, x1, y0, y1."""

OFFSETS = (0, 1, -2, 2, -3)
"""Heights of a text above the point, the best first; at -1 it would lie on the point itself."""


def place_note(
    x: float, y: float, half_width: float, height: float, within: tuple[float, float], top: float,
    taken: list[Note],
) -> Note:  # fmt: skip
    """Return where to write near (x, y): between the x of `within`, below `top`, off what is `taken`.

    Where there is no such place, the lowest of all, on top of something.
    """
    low, high = within
    at = min(max(x, low + half_width), high - half_width)
    note = (at - half_width, at + half_width, y, y + height)
    for lines in OFFSETS:
        note = (*note[:2], y + lines * height, y + (lines + 1) * height)
        if note[2] >= 0 and note[3] <= top and not any(_overlap(note, other) for other in taken):
            break
    return note


def _overlap(one: Note, other: Note) -> bool:
    beside = one[1] <= other[0] or other[1] <= one[0]
    return not (beside or one[3] <= other[2] or other[3] <= one[2])
