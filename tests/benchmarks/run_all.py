"""Runs the benchmarks one after the other; each prints JSON lines (see the Makefile)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main(names: list[str]) -> int:
    """Run those whose name contains one of `names`, or all; return 1 if any failed."""
    failed = 0
    for path in sorted(Path(__file__).parent.glob("bench_*.py")):
        name = path.stem.removeprefix("bench_")
        if names and not any(wanted in name for wanted in names):
            continue
        result = subprocess.run([sys.executable, "-m", f"tests.benchmarks.{path.stem}"], check=False)
        if result.returncode:
            print(f"{path.name} failed with exit code {result.returncode}", file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
