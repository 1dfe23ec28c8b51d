"""Brings resources/i18n up to date: new strings into the .ts, and the .ts compiled into the .qm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import PySide6

ROOT = Path(__file__).resolve().parent.parent
I18N = ROOT / "resources" / "i18n"
TOOLS = Path(PySide6.__file__).parent


def update(ts: Path) -> None:
    """Collect every ``tr`` string of the window into `ts`."""
    sources = [
        path.relative_to(ROOT).as_posix()
        for folder in ("app", "views")
        for path in sorted((ROOT / "src" / "tensorscope" / folder).rglob("*.py"))
    ]
    # No line numbers: they would change the file with every edit of the sources.
    options = ["-locations", "none", "-no-obsolete", "-source-language", "en", "-target-language", "zh_CN"]
    _run("lupdate", *options, *sources, "-ts", str(ts))


def compile_to(ts: Path, qm: Path) -> None:
    """Compile `ts` into `qm`."""
    _run("lrelease", "-silent", str(ts), "-qm", str(qm))


def _run(tool: str, *arguments: str) -> None:
    subprocess.run([TOOLS / tool, *arguments], check=True, cwd=ROOT)


if __name__ == "__main__":
    found = I18N / "tensorscope_zh_CN.ts"
    update(found)
    compile_to(found, found.with_suffix(".qm"))
    sys.exit(0)
