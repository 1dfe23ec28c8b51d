"""Errors whose text is shown to a person: what failed, on what, why, what to do next."""

from __future__ import annotations


class TensorScopeError(Exception):
    """Base of every error that is shown instead of a traceback."""


class ProtocolError(TensorScopeError):
    """Bytes from a peer are not a valid frame; the connection cannot go on."""


class DataError(TensorScopeError):
    """A frame or file is well formed but what it says cannot be true."""


class SessionFileError(TensorScopeError):
    """A session file cannot be read or written."""


class ReaderError(TensorScopeError):
    """A foreign file cannot be understood. The text goes on after "FILE cannot be read: "."""


class LinkError(TensorScopeError):
    """A target cannot be reached, refused us, or went away."""


class LaunchError(TensorScopeError):
    """A target process could not be started or found."""
