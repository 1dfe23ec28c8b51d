"""Opens a session file into a session model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tensorscope.models.session_model import SessionModel
from tensorscope.transport.session_reader import SessionReader


def load_session(path: Path, progress: Callable[[int, int], bool] | None = None) -> SessionModel:
    """Return the session in the file at `path`; any thread, as long as nobody else has the model yet.

    Parameters
    ----------
    path
        A session file; damage is noted in the model's `problems`.
    progress
        Called with (chunks read, chunks in all); loading stops early where it returns False.

    Raises
    ------
    SessionFileError
        If the file cannot be opened at all.
    """
    session = SessionModel(path.name)
    with SessionReader(path) as reader:
        for number, frame in enumerate(reader.frames()):
            session.ingest(frame)
            if progress is not None and number % 64 == 0 and not progress(number, reader.total_chunks):
                break
        session.problems += reader.problems
    session.go_to_step(session.last_step)
    return session
