"""Settings of the whole test run: no display, no settings of the person, one core per target."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

# Before Qt or torch is imported anywhere. Targets of parallel tests must not fight for cores.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["QT_API"] = "pyside6"
os.environ["PYQTGRAPH_QT_LIB"] = "PySide6"
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.pop("XDG_RUNTIME_DIR", None)
# A shell that starts the tests in the background ignores Ctrl-C for them, and so for all their targets.
signal.signal(signal.SIGINT, signal.default_int_handler)
_SOURCES = Path(__file__).resolve().parent.parent / "src"
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(_SOURCES), str(_SOURCES.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
)


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the person's settings out of the tests, and the tests out of theirs."""
    monkeypatch.setenv("TENSORSCOPE_SETTINGS_DIR", str(tmp_path / "settings"))


@pytest.fixture
def short_tmp_path() -> Iterator[Path]:
    """A directory whose path is short enough for a unix socket."""
    with tempfile.TemporaryDirectory(prefix="ts-", dir="/tmp") as folder:
        yield Path(folder)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and not _has_cuda():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device, and torch sees none"))


def _has_cuda() -> bool:
    import torch

    return torch.cuda.is_available()
