"""Asks a Python interpreter what a target would find in it, without importing torch here."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

_AGENT = Path(__file__).resolve().parent.parent / "agent"
_TIMEOUT_SECONDS = 240
_CODE = """
import json, sys
found = {"python": sys.version.split()[0]}
try:
    import torch
    found["torch"] = torch.__version__
    found["devices"] = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
except ImportError as error:
    found["problem"] = str(error)
else:
    sys.path.insert(0, sys.argv[1])
    import bootstrap
    bootstrap.load_package()
    from tensorscope.agent.capture.recorder_build import RecorderUnavailableError, build_library
    try:
        found["recorder"] = str(build_library())
    except RecorderUnavailableError as error:
        found["recorder_problem"] = str(error)
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Probe:
    """What an interpreter has. Empty texts where it has not.

    Attributes
    ----------
    problem
        Why there is no torch or no answer at all.
    recorder
        Path of the native allocator recorder, built just now if need be.
    recorder_problem
        Why there is none.
    """

    python: str = ""
    torch: str = ""
    devices: tuple[str, ...] = ()
    problem: str = ""
    recorder: str = ""
    recorder_problem: str = ""


def probe_interpreter(python: str) -> Probe:
    """Return what `python` has; takes as long as importing torch and perhaps compiling."""
    command = [python, "-c", _CODE, str(_AGENT)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Probe(problem=f"{python} cannot be run: {error}")
    lines = done.stdout.splitlines()
    if done.returncode != 0 or not lines:
        tail = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return Probe(problem=f"{python} failed: {tail}")
    found = json.loads(lines[-1])
    return Probe(**{**found, "devices": tuple(found.get("devices", ()))})
