"""The listening socket of the agent."""

from __future__ import annotations

import contextlib
import os
import socket
import struct

from tensorscope.core.address import Address, parse_address
from tensorscope.core.errors import LinkError
from tensorscope.core.runtime_dir import make_runtime_dir, socket_path

_CREDENTIALS = struct.Struct("3i")


def peer_uid(connection: socket.socket) -> int:
    """Return the user id at the other end of a unix socket."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(raw)[1])


class Listener:
    """A unix socket of mode 0600, or a loopback port. Closing it removes the file."""

    def __init__(self, text: str) -> None:
        if not text:
            make_runtime_dir()
            text = f"unix:{socket_path(os.getpid())}"
        self.address = parse_address(text)
        self.socket = _listen_tcp(self.address) if self.address.is_tcp else _listen_unix(self.address)
        if self.address.is_tcp:
            self.address = Address(port=self.socket.getsockname()[1])
        self._pid = os.getpid()

    def close(self) -> None:
        """Stop listening."""
        self.socket.close()
        if self.address.path and os.getpid() == self._pid:
            with contextlib.suppress(OSError):
                os.unlink(self.address.path)


def _listen_tcp(address: Address) -> socket.socket:
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        server.bind(("127.0.0.1", address.port))
    except OSError as error:
        server.close()
        raise LinkError(f"Port {address.port} cannot be listened on: {error}. Choose 0 for any.") from None
    return _listening(server)


def _listen_unix(address: Address) -> socket.socket:
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_dead(address.path)
        # The mode of a unix socket is taken from the process's umask, which is not ours to change.
        # Only its directory and SO_PEERCRED protect it between these two calls, and they suffice.
        server.bind(address.path)
        os.chmod(address.path, 0o600)
    except OSError as error:
        server.close()
        raise LinkError(f"Socket {address.path} cannot be listened on: {error}.") from None
    return _listening(server)


def _remove_dead(path: str) -> None:
    """Remove a socket that nobody listens on any more: its process was killed."""
    if not os.path.exists(path):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)


def _listening(server: socket.socket) -> socket.socket:
    server.setblocking(False)
    server.listen(8)
    return server
