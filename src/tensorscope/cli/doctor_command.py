"""`tensorscope doctor`: check that this machine has what is needed."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from tensorscope.cli.window import has_display
from tensorscope.core.errors import TensorScopeError
from tensorscope.core.runtime_dir import make_runtime_dir
from tensorscope.core.version import VERSION

EXAMPLES = """examples:
  tensorscope doctor                       what the window and local targets need
  tensorscope doctor --python ./env/bin/python   another interpreter that runs the training
"""
_QT = "from PySide6.QtWidgets import QApplication; a = QApplication([]); print(a.platformName())"
_TORCH_ADVICE = "pip install 'tensorscope-desktop[torch]', or name another interpreter with --python"
_QT_ADVICE = "apt-get install libegl1 libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1"


@dataclass(frozen=True)
class Check:
    """One line of the answer. `advice` says what to do; `needed` decides whether a failure is fatal."""

    name: str
    found: str
    ok: bool = True
    needed: bool = True
    advice: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("--python", default=sys.executable, help="interpreter that runs the training scripts")


def run(settings: argparse.Namespace) -> int:
    """Print every check as it is made; fail if something needed is missing."""
    failed = 0
    for check in _checks(settings.python):
        mark = "ok" if check.ok else ("MISSING" if check.needed else "absent")
        print(f"{mark:8}{check.name:20}{check.found}", flush=True)
        if not check.ok and check.advice:
            print(f"{'':28}-> {check.advice}")
        failed += check.needed and not check.ok
    print("Everything needed is there." if not failed else f"{failed} needed things are missing.")
    return 1 if failed else 0


def _checks(python: str) -> Iterator[Check]:
    yield Check("TensorScope", f"{VERSION} on Python {platform.python_version()}, {platform.platform()}")
    for package in ("numpy", "PySide6-Essentials", "pyqtgraph", "psygnal", "platformdirs"):
        yield _package(package)
    yield _qt()
    yield Check("display", os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY") or "none",
                has_display(), needed=False, advice="only --headless works here")  # fmt: skip
    yield from _target(python)
    yield _program("dot", "the layered graph layout is not offered; apt-get install graphviz")
    yield _runtime_dir()
    yield _settings()


def _package(name: str) -> Check:
    try:
        return Check(name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Check(name, "not installed", ok=False, advice=f"pip install {name}")


def _qt() -> Check:
    """Start Qt in a process of its own: without its libraries, or a display, it aborts."""
    environment = dict(os.environ)
    if not has_display():
        environment.setdefault("QT_QPA_PLATFORM", "offscreen")
    try:
        done = subprocess.run(
            [sys.executable, "-c", _QT], capture_output=True, text=True, errors="replace", timeout=60,
            env=environment, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Check("Qt platform", "Qt did not start within 60 s", ok=False, advice=_QT_ADVICE)
    if done.returncode == 0:
        return Check("Qt platform", done.stdout.strip())
    why = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    return Check("Qt platform", why, ok=False, advice=_QT_ADVICE)


def _target(python: str) -> Iterator[Check]:
    """What training scripts would find. A window alone needs none of it."""
    from tensorscope.launch.interpreter_probe import probe_interpreter

    probe = probe_interpreter(python)
    if not probe.torch:
        # Without torch the window still works; an interpreter that was asked for must work.
        asked = python != sys.executable
        yield Check("torch", probe.problem, ok=False, needed=asked, advice=_TORCH_ADVICE)
        return
    yield Check("torch", f"{probe.torch} on Python {probe.python}")
    yield Check("devices", ", ".join(("CPU", *probe.devices)))
    if probe.recorder:
        yield Check("native recorder", probe.recorder)
    else:
        advice = "memory is recorded by Python instead, slower and with less detail"
        yield Check("native recorder", probe.recorder_problem, ok=False, needed=False, advice=advice)


def _program(name: str, advice: str) -> Check:
    path = shutil.which(name)
    return Check(name, path or "not found", path is not None, needed=False, advice=advice)


def _runtime_dir() -> Check:
    try:
        return Check("runtime directory", str(make_runtime_dir()))
    except TensorScopeError as error:
        return Check(
            "runtime directory", str(error), ok=False, advice="sockets of running programs lie there"
        )


def _settings() -> Check:
    import platformdirs

    folder = os.environ.get("TENSORSCOPE_SETTINGS_DIR") or platformdirs.user_config_dir("tensorscope")
    existing = folder
    while not os.path.exists(existing):
        existing = os.path.dirname(existing)
    writable = os.access(existing, os.W_OK)
    return Check("settings", folder if writable else f"{folder} cannot be written", writable, needed=False,
                 advice="the window will forget its layout; set TENSORSCOPE_SETTINGS_DIR")  # fmt: skip
