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
