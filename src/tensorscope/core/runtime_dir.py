"""Where the sockets of running targets lie: a directory that only their user can enter."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tensorscope.core.errors import LinkError

MAX_SOCKET_PATH_BYTES = 107
"""What ``sockaddr_un`` holds on Linux."""


def runtime_dir() -> Path:
    """Return the path of the runtime directory of this user, which may not exist yet."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base and os.path.isabs(base):
        return Path(base) / "tensorscope"
    return Path("/tmp") / f"tensorscope-{os.getuid()}"


def make_runtime_dir() -> Path:
    """Create the runtime directory where it is missing, and return it.

    Raises
    ------
    LinkError
        If it cannot be made, or is not a directory that this user alone can use.
    """
    path = runtime_dir()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise LinkError(f"Directory {path} for sockets cannot be made: {error}.") from None
    check_runtime_dir(path)
    return path


def check_runtime_dir(path: Path) -> None:
    """Raise `LinkError` unless `path` is a real directory of this user, closed to others."""
    try:
        found = path.lstat()
    except OSError as error:
        raise LinkError(f"Directory {path} for sockets cannot be used: {error}.") from None
    if not stat.S_ISDIR(found.st_mode):
        raise LinkError(f"{path} should be a directory for sockets, but it is none: move it away.")
    if found.st_uid != os.getuid():
        raise LinkError(f"Directory {path} belongs to another user: set XDG_RUNTIME_DIR to one of yours.")
    if found.st_mode & 0o077:
        raise LinkError(f"Directory {path} is open to other users: run chmod 700 {path}.")


def socket_path(pid: int) -> Path:
    """Return where the agent in process `pid` listens."""
    return runtime_dir() / f"{pid}.sock"
