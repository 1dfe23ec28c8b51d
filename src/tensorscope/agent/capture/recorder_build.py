"""Compiles the native allocator recorder once per torch and source, into the user's cache."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import torch

from tensorscope.core.errors import TensorScopeError
from tensorscope.core.resource_paths import cuda_ext_path

_SOURCE = "allocator_recorder.cpp"
_LIGHT = "light"
"""Directory beside the source with a light stand-in for a heavy header of torch."""
_FLAGS = ("-O2", "-fPIC", "-shared")
_COMPILE_TIMEOUT_S = 180
_SCRAP = "building-"


class RecorderUnavailableError(TensorScopeError):
    """The native recorder cannot be had here; the text says why and what would help."""


def cached_library() -> Path | None:
    """Return the library if it was built before, without building it."""
    try:
        path = _cache_dir() / _file_name(cuda_ext_path(_SOURCE))
    except (OSError, RecorderUnavailableError):
        return None
    return path if path.exists() else None


def build_library() -> Path:
    """Return the library, built now if it is not in the cache. Any thread, any number of processes.

    Raises
    ------
    RecorderUnavailableError
        If there is no compiler, no headers, no place for it, or it does not compile.
    """
    try:
        source = cuda_ext_path(_SOURCE)
        target = _cache_dir() / _file_name(source)
    except OSError as error:
        raise RecorderUnavailableError(f"The native recorder has no source or no cache: {error}") from None
    if not target.exists():
        _compile(source, target)
    return target


def load_library(path: Path) -> ctypes.PyDLL:
    """Return the library, loaded for good (code that torch may still call is never unloaded).

    Raises
    ------
    RecorderUnavailableError
        If it does not load; it is then removed from the cache, to be built anew next time.
    """
    try:
        return ctypes.PyDLL(str(path))
    except OSError as error:
        with contextlib.suppress(OSError):
            path.unlink()
        raise RecorderUnavailableError(f"The native recorder does not load: {error}") from None


class RecorderBuild:
    """The library, being built in a thread or found in the cache."""

    def __init__(self, build: Callable[[], Path]) -> None:
        self._build = build
        self._thread: threading.Thread | None = None
        self.library: Path | None = None
        self.problem = ""

    @property
    def running(self) -> bool:
        """Whether one has to wait."""
        return self._thread is not None and self._thread.is_alive()

    def begin(self, wait: bool) -> None:
        """Find the library, or build it: here and now, or in a thread."""
        self.library = cached_library() if self._build is build_library else None
        if self.library is not None:
            return
        if wait:
            self._run()
            return
        self._thread = threading.Thread(target=self._run, name="tensorscope-build", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.library = self._build()
        except RecorderUnavailableError as error:
            self.problem = str(error)
        except Exception as error:  # noqa: BLE001 - in a thread of ours: whatever it is, there is a fallback
            self.problem = f"The native recorder could not be built: {error!r}"


def _file_name(source: Path) -> str:
    texts = [path.read_bytes() for path in (source, *sorted((source.parent / _LIGHT).rglob("*.h")))]
    parts = (torch.__version__, str(torch.version.git_version), _abi_flag(), *_FLAGS, platform.machine())
    key = hashlib.sha256(b"\0".join(texts) + "\0".join(parts).encode()).hexdigest()[:20]
    return f"allocator_recorder-{key}.so"


def _abi_flag() -> str:
    return f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"


def _cache_dir() -> Path:
    """Return a directory that only this user can write to, made if missing."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    places = [Path(home) / "tensorscope", Path(tempfile.gettempdir()) / f"tensorscope-cache-{os.getuid()}"]
    for place in places:
        with contextlib.suppress(OSError):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = os.lstat(place)
            private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
            if private and not found.st_mode & 0o022 and os.access(place, os.W_OK):
                return place
    raise RecorderUnavailableError(
        f"The native recorder has nowhere to be kept: neither {places[0]} nor {places[1]} is a directory "
        "that only you can write to. Set XDG_CACHE_HOME to one."
    )


def _compiler() -> list[str]:
    named = os.environ.get("CXX")
    if named:
        return shlex.split(named)
    for name in ("g++", "c++", "clang++"):
        if found := shutil.which(name):
            return [found]
    raise RecorderUnavailableError("There is no C++ compiler here. Install g++ for the native recorder.")


def _compile(source: Path, target: Path) -> None:
    root = Path(torch.__file__).parent
    _remove_scraps(target.parent)
    handle, scratch = tempfile.mkstemp(prefix=_SCRAP, suffix=".so", dir=target.parent)
    os.close(handle)
    command = [*_compiler(), *_FLAGS, _abi_flag()]
    torch_flags = [
        f"-I{root / 'include'}",
        str(source),
        "-o",
        scratch,
        f"-L{root / 'lib'}",
        "-lc10",
        "-ltorch_cpu",
    ]
    attempts = (["-std=c++17", f"-I{source.parent / _LIGHT}"], ["-std=c++20"])
    try:
        for flags in attempts:
            problem = _run([*command, *flags, *torch_flags])
            if problem is None:
                os.replace(scratch, target)
                return
        raise RecorderUnavailableError(f"The native recorder does not compile against torch: {problem}")
    finally:
        with contextlib.suppress(OSError):
            os.unlink(scratch)


def _remove_scraps(directory: Path) -> None:
    """Remove what compilers have left that were killed with their process."""
    for scrap in directory.glob(f"{_SCRAP}*"):
        with contextlib.suppress(OSError):
            if time.time() - scrap.stat().st_mtime > 2 * _COMPILE_TIMEOUT_S:
                scrap.unlink()


def _run(command: list[str]) -> str | None:
    """Return None if `command` succeeds, else its first line that says why."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_COMPILE_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if "error" in line] or [f"exit {done.returncode}"]
    return lines[0]
