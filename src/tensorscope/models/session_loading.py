"""Opens files into session models: our own, and those that other tools write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tensorscope.core.errors import SessionFileError
from tensorscope.models.session_model import SessionModel
from tensorscope.readers.child import Choose, ForeignReader
from tensorscope.transport.session_reader import SessionReader, is_session_file

Progress = Callable[[int, int], bool]
"""Called with (done, in all); loading stops early where it returns False."""


def load_session(
    path: Path, progress: Progress | None = None, wanted: Sequence[str] = (), choose: Choose | None = None
) -> SessionModel:
    """Return the session in the file at `path`; any thread, as long as nobody else has the model yet.

    Parameters
    ----------
    path
        A session file, or a foreign file that `tensorscope.readers` knows, told by its content.
        Damage of a session file is noted in the model's `problems`.
    progress
        Called with chunks or bytes.
    wanted, choose
        What to take of a foreign file, see `ForeignReader`.

    Raises
    ------
    SessionFileError
        If a session file cannot be opened at all.
    ReaderError
        If a foreign file cannot be understood.
    """
    if path.exists() and not path.is_file():  # to open a pipe would wait for ever
        raise SessionFileError(f"Cannot open {path}: it is no file, but a folder, pipe or device.")
    session = SessionModel(path.name)
    if is_session_file(path):
        _read_session(path, session, progress)
    else:
        _read_foreign(path, session, progress, wanted, choose)
    session.go_to_step(session.last_step)
    return session


def _read_session(path: Path, session: SessionModel, progress: Progress | None) -> None:
    with SessionReader(path) as reader:
        for number, frame in enumerate(reader.frames()):
            session.ingest(frame)
            if progress is not None and number % 64 == 0 and not progress(number, reader.total_chunks):
                break
        session.problems += reader.problems


def _read_foreign(
    path: Path, session: SessionModel, progress: Progress | None, wanted: Sequence[str], choose: Choose | None
) -> None:
    with ForeignReader(path, wanted, choose) as reader:

        def waiting() -> bool:
            return progress is None or progress(reader.read_bytes, reader.total_bytes)

        for frame in reader.frames(waiting):
            session.ingest(frame)
