"""Addresses of targets as people write them: ``unix:/path``, ``tcp:127.0.0.1:PORT``, a path, or a PID."""

from __future__ import annotations

from dataclasses import dataclass

from tensorscope.core.errors import LinkError
from tensorscope.core.runtime_dir import MAX_SOCKET_PATH_BYTES, socket_path

LOOPBACK = ("127.0.0.1", "localhost")


@dataclass(frozen=True)
class Address:
    """Where an agent listens: a unix socket at `path`, or, where that is empty, loopback `port`."""

    path: str = ""
    port: int = 0

    @property
    def is_tcp(self) -> bool:
        """Whether this is a TCP port."""
        return not self.path

    def __str__(self) -> str:
        return f"tcp:127.0.0.1:{self.port}" if self.is_tcp else f"unix:{self.path}"


def parse_address(text: str) -> Address:
    """Return the address that `text` names.

    Raises
    ------
    LinkError
        If it names none, or a host that is not this machine.
    """
    text = text.strip()
    if text.isdecimal():
        return Address(str(socket_path(int(text))))
    if text.startswith("tcp:"):
        return _parse_tcp(text)
    path = text.removeprefix("unix:")
    if not path or "\0" in path or (path == text and "/" not in path):
        raise LinkError(
            f"{text!r} is no address: write a process id, unix:/path/to/socket or tcp:127.0.0.1:PORT."
        )
    if len(path.encode()) > MAX_SOCKET_PATH_BYTES:
        raise LinkError(
            f"Socket path {path} is longer than {MAX_SOCKET_PATH_BYTES} bytes: use a shorter one."
        )
    return Address(path)


def _parse_tcp(text: str) -> Address:
    host, _, port = text.removeprefix("tcp:").rpartition(":")
    if host not in LOOPBACK:
        raise LinkError(
            f"{text!r} is not on this machine. Only 127.0.0.1 is allowed: forward the port with ssh -L."
        )
    if not port.isdecimal() or int(port) > 65535:
        raise LinkError(f"{text!r} has no valid port: write tcp:127.0.0.1:PORT.")
    return Address(port=int(port))
