"""Which operators and annotations of a profiler's trace were running at a moment, as a call stack."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_PYTHON_FRAME = re.compile(r"^(?P<file>.*)\((?P<line>\d+)\): (?P<name>.*)$")
_MAX_DEPTH = 512

Frame = dict[str, Any]


def calls_at(
    spans: Sequence[Mapping[str, Any]], moments: Sequence[tuple[Any, float]]
) -> list[tuple[Mapping[str, Any], ...]]:
    """Return, for each moment, the spans that hold it on its thread, outermost first.

    Parameters
    ----------
    spans
        Complete events (``ph`` is X) with ``tid``, ``ts`` and ``dur`` in microseconds.
    moments
        (thread, time in microseconds).
    """
    by_thread: dict[str, list[tuple[float, float, int]]] = {}
    for index, span in enumerate(spans):
        begin = float(span["ts"])
        end = begin + float(span.get("dur", 0))
        by_thread.setdefault(str(span.get("tid")), []).append((begin, -end, index))
    found: list[tuple[Mapping[str, Any], ...]] = [()] * len(moments)
    asked: dict[str, list[tuple[float, int]]] = {}
    for number, (thread, at) in enumerate(moments):
        asked.setdefault(str(thread), []).append((at, number))
    for thread, questions in asked.items():
        _sweep(sorted(by_thread.get(thread, [])), sorted(questions), spans, found)
    return found


def _sweep(
    begins: list[tuple[float, float, int]], questions: list[tuple[float, int]],
    spans: Sequence[Mapping[str, Any]], found: list[tuple[Mapping[str, Any], ...]],
) -> None:  # fmt: skip
    running: list[tuple[float, int]] = []
    at = 0
    for moment, number in questions:
        while at < len(begins) and begins[at][0] <= moment:
            begin, minus_end, index = begins[at]
            while running and running[-1][0] <= begin:
                running.pop()
            running.append((-minus_end, index))
            at += 1
        while running and running[-1][0] < moment:
            running.pop()
        found[number] = tuple(spans[index] for end, index in running[-_MAX_DEPTH:] if end >= moment)


def stack_of(calls: Sequence[Mapping[str, Any]]) -> list[Frame]:
    """Return the frames of `calls`, innermost first: operators, then Python's own where it was recorded."""
    frames: list[Frame] = []
    for call in reversed(calls):
        name = str(call.get("name", ""))
        frames.append(_python_frame(name) or {"filename": "", "line": 0, "name": name})
    said = next((_call_stack(call) for call in reversed(calls) if _call_stack(call)), "")
    frames += [
        _python_frame(part) or {"filename": "", "line": 0, "name": part} for part in said.split(";") if part
    ]
    return frames


def _call_stack(call: Mapping[str, Any]) -> str:
    args = call.get("args")
    return str(args.get("Call stack", "")) if isinstance(args, Mapping) else ""


def _python_frame(text: str) -> Frame | None:
    match = _PYTHON_FRAME.match(text)
    if match is None:
        return None
    return {"filename": match["file"], "line": int(match["line"][:9]), "name": match["name"]}
