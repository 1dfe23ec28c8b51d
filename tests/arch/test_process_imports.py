"""What each of the two processes may load; import-linter checks the same in the source."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "src" / "tensorscope"
OLD = sorted([*SOURCES.joinpath("core").rglob("*.py"), *SOURCES.joinpath("agent").rglob("*.py")])
NEWER_THAN_3_10 = {"tomllib", "typing.Self", "enum.StrEnum", "typing.override", "datetime.UTC"}


def loaded(statement: str, *names: str) -> str:
    """Return which of `names` a new process has loaded after `statement`."""
    code = f"import sys\n{statement}\nprint([n for n in {names!r} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_that_the_package_itself_loads_nothing():
    assert loaded("import tensorscope", "torch", "numpy", "PySide6", "tensorscope.agent") == "[]"


def test_that_the_agent_loads_neither_qt_nor_any_dependency_of_the_window():
    names = ("PySide6", "pyqtgraph", "psygnal", "platformdirs", "graphviz", "tensorscope.models")
    modules = "tensorscope.agent.run_script, tensorscope.agent.watch, tensorscope.agent.captures"
    assert loaded(f"import {modules}", *names) == "[]"


def test_that_the_window_loads_neither_torch_nor_the_agent():
    statement = (
        "from tensorscope.app.view_registry import VIEW_CLASSES, build_view\n"
        "import tensorscope.app.application\n"
        "from tensorscope.app.offscreen import gui_application\n"
        "gui_application()\n"
        "views = [build_view(name) for name in VIEW_CLASSES]"
    )
    assert loaded(statement, "torch", "tensorscope.agent") == "[]"


@pytest.mark.parametrize("path", OLD, ids=lambda path: str(path.relative_to(SOURCES)))
def test_that_what_runs_in_targets_is_python_3_10(path):
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 10))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    assert not imported & NEWER_THAN_3_10


def test_that_qt_calls_do_not_eat_none(qapp):
    """PySide6 6.12.0 loses a reference to None at every void call on CPython < 3.12, until it aborts."""
    from PySide6.QtGui import QImage, QPainter

    image = QImage(8, 8, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    before = sys.getrefcount(None)
    for _ in range(200):
        painter.fillRect(0, 0, 4, 4, 0)
    after = sys.getrefcount(None)
    painter.end()
    assert after > before - 100
