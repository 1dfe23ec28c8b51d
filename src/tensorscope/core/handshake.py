"""How a TCP peer proves that it knows the token, before any frame is read.

The agent sends `NONCE_BYTES` random bytes; the window answers with `answer`, and says nothing else
until then. The token itself never crosses the wire.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from pathlib import Path

from tensorscope.core.errors import LinkError

NONCE_BYTES = 32
ANSWER_BYTES = 32
TOKEN_VARIABLE = "TENSORSCOPE_TOKEN"
_MAX_TOKEN_BYTES = 4096


def new_nonce() -> bytes:
    """Return a nonce for one connection."""
    return os.urandom(NONCE_BYTES)


def answer(token: str, nonce: bytes) -> bytes:
    """Return what proves that one knows `token`."""
    return hmac.new(token.encode(), nonce, hashlib.sha256).digest()


def check(token: str, nonce: bytes, given: bytes) -> bool:
    """Return whether `given` is the right answer; takes the same time whether it is or not."""
    return bool(token) and hmac.compare_digest(answer(token, nonce), given)


def read_token(path: str | Path | None = None) -> str | None:
    """Return the token of the file at `path`, else of the environment, else None.

    Raises
    ------
    LinkError
        If the file cannot be read, is empty, or others may read it.
    """
    if path is None:
        return os.environ.get(TOKEN_VARIABLE) or None
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise LinkError(f"Token file {path} can be read by other users: run chmod 600 {path}.")
            token = file.read(_MAX_TOKEN_BYTES).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise LinkError(f"Token file {path} cannot be read: {error}.") from None
    if not token:
        raise LinkError(f"Token file {path} is empty: write a random token of one line into it.")
    return token
