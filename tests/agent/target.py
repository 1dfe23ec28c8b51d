"""Starts a training script as a target, the way a launcher does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

BOOTSTRAP = Path(__file__).parents[2] / "src" / "tensorscope" / "agent" / "bootstrap.py"
PRELUDE = "import torch\ntorch.manual_seed(0)\ntorch.set_num_threads(1)\n"


class Target:
    """A script with an agent in it. `address` is empty where it never came to listen."""

    def __init__(
        self, script: Path, *args: str, options: tuple[str, ...] = (), stdin: int = subprocess.DEVNULL
    ) -> None:
        reading, writing = os.pipe()
        command = [sys.executable, str(BOOTSTRAP), "--ready-fd", str(writing), *options, str(script), *args]
        self.process = subprocess.Popen(
            command, pass_fds=[writing], stdin=stdin,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        os.close(writing)
        with os.fdopen(reading) as ready:
            self.address = ready.readline().strip()

    def finish(self, seconds: float = 120) -> tuple[int, str, str]:
        """Wait for the end; return the exit code, stdout and stderr."""
        out, err = self.process.communicate(timeout=seconds)
        return self.process.returncode, out, err

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def __enter__(self) -> Target:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.process.poll() is None:
            self.kill()
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()


def write_script(directory: Path, text: str, prelude: str = PRELUDE) -> Path:
    """Return the path of a script made of `prelude` and `text`."""
    path = directory / "train.py"
    path.write_text(prelude + text)
    return path


def run_plain(script: Path, *args: str, env: dict[str, str] | None = None) -> tuple[int, str, str]:
    """Run a script with plain Python."""
    done = subprocess.run(
        [sys.executable, str(script), *args], capture_output=True, text=True, timeout=120,
        env={**os.environ, **(env or {})}, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr
