"""Files beside the checkout that nobody here made; tests that need them skip where they are not."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def shared_file(name: str) -> Path:
    """Return the path of a handed file such as ``data/snapshots/x.pickle``, or skip the test."""
    places = [Path(os.environ["TENSORSCOPE_SHARED"])] if "TENSORSCOPE_SHARED" in os.environ else []
    places += [parent / "shared" for parent in ROOT.parents]
    for place in places:
        if (place / name).exists():
            return place / name
    pytest.skip(f"{name} is not beside the checkout (set TENSORSCOPE_SHARED)")
