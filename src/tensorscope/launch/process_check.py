"""Why a process cannot be attached to, told from what /proc says of it."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

_MAX_MAPS_BYTES = 1 << 24
_START = "start it with: tensorscope run SCRIPT"


def why_not_attachable(pid: int) -> str:
    """Return, for a person, why process `pid` has no agent that we could reach.

    The checks go from the cheapest to the dearest; the first that fails is the reason.
    """
    root = Path("/proc") / str(pid)
    try:
        status = _status(root)
        owner = root.stat().st_uid
    except OSError:
        return f"Process {pid} has ended."
    if _uid(status, owner) != os.getuid():
        name = _user_name(_uid(status, owner))
        return f"Process {pid} belongs to user {name}: run TensorScope as that user, or {_START}."
    if status.get("State", "").startswith("Z"):
        return f"Process {pid} has ended (its parent has not noticed yet)."
    if status.get("State", "")[:1] in ("T", "t"):
        return f"Process {pid} is stopped (Ctrl-Z?): resume it with kill -CONT {pid}."
    return _why_not_by_content(pid, root)


def _why_not_by_content(pid: int, root: Path) -> str:
    try:
        with (root / "maps").open("rb") as file:
            maps = file.read(_MAX_MAPS_BYTES)
    except OSError:
        return f"Process {pid} forbids inspection (set-uid program or hardened container): {_START}."
    if b"python" not in maps.lower():
        return f"Process {pid} is not a Python process."
    if where := _listens_at(pid):
        return f"Process {pid} has an agent, but under another runtime directory: attach to unix:{where}."
    if b"libtorch_python" not in maps:
        return f"Process {pid} has not imported torch (yet)."
    return f"Process {pid} runs PyTorch, but without TensorScope's agent: {_START}."


def _listens_at(pid: int) -> str:
    """Return where the agent of `pid` listens if its XDG_RUNTIME_DIR is not ours."""
    try:
        lines = Path("/proc/net/unix").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    paths = [line.rpartition(" ")[2] for line in lines]
    return next((path for path in paths if path.endswith(f"/{pid}.sock") and "tensorscope" in path), "")


def _status(root: Path) -> dict[str, str]:
    lines = (root / "status").read_text(errors="replace").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _uid(status: dict[str, str], owner: int) -> int:
    """The owner of /proc/PID is root where the process forbids inspection; its status says who it is."""
    numbers = status.get("Uid", "").split()
    return int(numbers[1]) if len(numbers) > 1 else owner


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
