"""Runs the benchmarks one after the other; each prints JSON lines (see the Makefile)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main(names: list[str]) -> int:
    """Run those whose name contains one of `names`, or all; return 1 if any failed, 2 if there is none."""
    every = sorted(Path(__file__).parent.glob("bench_*.py"))
    chosen = [path for path in every if not names or any(wanted in path.stem for wanted in names)]
    if not chosen:
        known = ", ".join(path.stem.removeprefix("bench_") for path in every)
        print(f"No benchmark is called {' '.join(names)}. There are: {known}", file=sys.stderr)
        return 2
    failed = 0
    for path in chosen:
        result = subprocess.run([sys.executable, "-m", f"tests.benchmarks.{path.stem}"], check=False)
        if result.returncode:
            print(f"{path.name} failed with exit code {result.returncode}", file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
