"""Argument types that several verbs share."""

from __future__ import annotations

import argparse


def positive(text: str) -> int:
    """Return a whole number above zero."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return number


def add_range(parser: argparse.ArgumentParser) -> None:
    """Add the part of a memory snapshot or trace to read."""
    part = parser.add_mutually_exclusive_group()
    part.add_argument(
        "--events", type=_range, metavar="A:B", help="of a snapshot or trace: only these events"
    )
    part.add_argument("--steps", type=_range, metavar="A:B", help="of a snapshot or trace: only these steps")


def chosen_range(settings: argparse.Namespace) -> tuple[str, ...]:
    """Return what `load_session` wants to know of the chosen part."""
    if settings.events is not None:
        return "--events", settings.events
    return ("--steps", settings.steps) if settings.steps is not None else ()


def _range(text: str) -> str:
    first, colon, last = text.partition(":")
    if not colon or not all(part == "" or part.isdecimal() for part in (first, last)):
        raise argparse.ArgumentTypeError(f"{text!r} is no range such as 1000:5000, 1000: or :5000")
    return text
