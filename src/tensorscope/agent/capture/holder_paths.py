"""From an object to the names that lead to it: globals, local variables, attributes, containers."""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Callable, Iterator
from types import CellType, FrameType, FunctionType, GeneratorType, ModuleType, TracebackType
from typing import Any

from tensorscope.agent.capture.source_lines import short_path

MAX_DEPTH = 8
MAX_VISITED = 3_000
MAX_PATHS = 6
MAX_WAYS = 64
LEAST_DEPTH = 4
"""So many levels are looked at even where a local variable answers at once: a list says more."""
_OPTIMIZED = 0x1
"""Code flag of functions, whose ``f_locals`` is a copy that must not outlive our look (CPython < 3.13)."""
_FRESH_LOCALS = sys.version_info >= (3, 13)

_Level = dict[int, tuple[Any, list[tuple[int, str]]]]
"""By id: an object, and for each target that it leads to its number and the way from here."""
CYCLE_TEXT = "only a reference cycle: nothing else refers to it, and the garbage collector has not run"


class HolderPaths:
    """Looks for roots once, then answers for any number of objects. Keeps ids alone, no object.

    Parameters
    ----------
    late
        Asked now and then; where it returns True, the search ends.
    """

    def __init__(self, late: Callable[[], bool]) -> None:
        self._late = late
        self._globals = {
            id(module.__dict__): name
            for name, module in list(sys.modules.items())
            if issubclass(type(module), ModuleType)
        }
        main = sys.modules.get("__main__")
        if main is not None:  # it may have other names, too
            self._globals[id(main.__dict__)] = (
                short_path(getattr(main, "__file__", None) or "<main>") or "__main__"
            )
        self._locals: dict[int, list[str]] = {}
        self._own: set[int] = set()
        self._read_frames()

    def forget(self) -> None:
        """Drop what was learnt."""
        self._globals.clear()
        self._locals.clear()

    def _read_frames(self) -> None:
        """Note what the local variables of all running functions refer to; never while somebody debugs."""
        if sys.gettrace() is not None:
            return
        frames = list(sys._current_frames().values())
        while frames:
            at: FrameType | None = frames.pop()
            while at is not None:
                self._read_frame(at)
                at = at.f_back  # ends as None: a frame that refers to itself would keep its variables

    def _read_frame(self, frame: FrameType) -> None:
        code = frame.f_code
        short = short_path(code.co_filename)
        if not short or not code.co_flags & _OPTIMIZED:
            return  # torch, ourselves, or a module body, whose variables are globals
        values = frame.f_locals
        for name, value in values.items():
            where = f"local variable {name} of {code.co_name} ({short}:{frame.f_lineno})"
            self._locals.setdefault(id(value), []).append(where)
        if not _FRESH_LOCALS:
            values.clear()  # or the copy would keep what the function lets go

    def of_all(self, targets: list[Any], ignored: tuple[Any, ...]) -> list[list[tuple[str, str]]]:
        """Return, for each target, (kind, text) of up to `MAX_PATHS` ways to it, the shortest first.

        One look through the heap a level serves all targets: each costs 10 ms or more.

        Parameters
        ----------
        ignored
            Containers of the caller, which refer to the targets, too.
        """
        found: list[list[tuple[str, str]]] = [[] for _ in targets]
        referred = [False] * len(targets)
        level = {id(one): (one, [(number, "")]) for number, one in enumerate(targets)}
        seen = set(level)
        for depth in range(MAX_DEPTH):
            self._take_locals(level, found)
            if not level or (depth >= LEAST_DEPTH and all(found)):
                break
            if len(seen) > MAX_VISITED or self._late():
                break
            level = self._next_level(level, seen, found, referred, ignored)
        unfinished = {number for _, ways in level.values() for number, _ in ways}
        for number, ways in enumerate(found):
            if not ways and referred[number] and number not in unfinished:
                ways.append(("cycle", CYCLE_TEXT))
        return found

    def _take_locals(self, level: _Level, found: list[list[tuple[str, str]]]) -> None:
        for key, (_, ways) in level.items():
            for where in self._locals.get(key, ()):
                for number, path in ways:
                    _add(found[number], ("frame_local", where + path))

    def _next_level(
        self, level: _Level, seen: set[int], found: list[list[tuple[str, str]]], referred: list[bool],
        ignored: tuple[Any, ...],
    ) -> _Level:  # fmt: skip
        own = {id(one) for one in (*ignored, level, found)} | {id(entry) for entry in level.values()}
        objects = [one for one, _ in level.values()]
        referrers = gc.get_referrers(*objects)
        own |= {id(objects), id(referrers)}
        following: _Level = {}
        for referrer in referrers:
            if id(referrer) in own or id(referrer) in seen or _is_ours(referrer):
                continue
            if not self._is_end(referrer):
                seen.add(id(referrer))
            for one in gc.get_referents(referrer):
                entry = level.get(id(one))
                if entry is not None:
                    self._refer(referrer, one, entry[1], following, found, referred)
        del referrers, objects
        return following

    def _refer(
        self, referrer: Any, one: Any, ways: list[tuple[int, str]], following: _Level,
        found: list[list[tuple[str, str]]], referred: list[bool],
    ) -> None:  # fmt: skip
        for number, path in ways:
            referred[number] = True
            end = self._end(referrer, one, path)
            if end is not None:
                _add(found[number], end)
                continue
            step = _step(referrer, one)
            if step is not None:
                kept = following.setdefault(id(referrer), (referrer, []))[1]
                if len(kept) < MAX_WAYS and all(number != other for other, _ in kept):
                    kept.append((number, step + path))

    def _is_end(self, referrer: Any) -> bool:
        kind = type(referrer)
        return id(referrer) in self._globals or kind is FrameType or issubclass(kind, type)

    def _end(self, referrer: Any, one: Any, path: str) -> tuple[str, str] | None:
        """Return the end of a way, where `referrer` is something that a person can name."""
        kind = type(referrer)
        if kind is dict and id(referrer) in self._globals:
            key = _key_of(referrer, one)
            return (
                None if key is None else ("global", f"{key}{path} (global of {self._globals[id(referrer)]})")
            )
        if kind is FrameType:
            short = short_path(referrer.f_code.co_filename)
            if short:
                text = f"a variable of {referrer.f_code.co_name} ({short}:{referrer.f_lineno}){path}"
                return "frame_local", text
        if issubclass(kind, type):
            return "attribute", f"class {referrer.__name__}{path}"
        return None


def _add(ways: list[tuple[str, str]], way: tuple[str, str]) -> None:
    if len(ways) < MAX_PATHS and way not in ways:
        ways.append(way)


def _is_ours(referrer: Any) -> bool:
    if type(referrer) is FrameType:
        return referrer.f_code.co_filename == __file__ or not short_path(referrer.f_code.co_filename)
    return False


def _step(referrer: Any, one: Any) -> str | None:
    """Return how `referrer` leads to `one`, as it is written behind the referrer's own name."""
    kind = type(referrer)
    if kind is dict:
        key = _key_of(referrer, one)
        return None if key is None else f"[{key!r}]"
    if kind in (list, tuple) or issubclass(kind, (list, tuple, deque)):
        return _index_text(referrer, one)
    if kind is CellType:
        return " (in a closure)"
    if kind is FunctionType:
        return f" of function {referrer.__name__}"
    if kind in (GeneratorType, TracebackType):
        return f" of a {'generator' if kind is GeneratorType else 'traceback'}"
    if issubclass(kind, (set, frozenset)):
        return " (in a set)"
    for name, value in _attributes(referrer):
        if value is one:
            return f".{name}"
    if type(one) is dict and getattr(referrer, "__dict__", None) is one:
        return ""  # the dictionary of an object: its key is the attribute
    return f" of {kind.__name__}"


def _attributes(referrer: Any) -> Iterator[tuple[str, Any]]:
    values = getattr(type(referrer), "__dict__", {}).get("__dict__")
    if values is None:
        return
    try:
        yield from list(vars(referrer).items())
    except Exception:  # noqa: BLE001  (a __dict__ of theirs may raise anything)
        return


def _key_of(container: dict[Any, Any], one: Any) -> Any:
    for key, value in list(container.items()):
        if value is one:
            return key if isinstance(key, (str, int)) else type(key).__name__
    return None


def _index_text(container: Any, one: Any) -> str:
    for index, value in enumerate(container):
        if value is one:
            return f"[{index}]"
    return "[?]"
