"""Finds our data files, in an installed wheel and in a checkout alike."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def resource_path(name: str) -> Path:
    """Return the path of ``resources/<name>``; FileNotFoundError names both places looked at."""
    return _find("resources", name)


def cuda_ext_path(name: str) -> Path:
    """Return the path of ``cuda_ext/<name>``; FileNotFoundError names both places looked at."""
    return _find("cuda_ext", name)


def _find(folder: str, name: str) -> Path:
    # In a wheel the folder lies inside the package, in a checkout beside src/.
    places = [_PACKAGE / folder / name, _PACKAGE.parent.parent / folder / name]
    for place in places:
        if place.exists():
            return place
    raise FileNotFoundError(f"{name} is neither at {places[0]} nor at {places[1]}: reinstall TensorScope.")
