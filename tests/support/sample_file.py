"""The sample session as a file."""

from __future__ import annotations

from pathlib import Path

from tensorscope.core.session_writer import SessionWriter
from tests.support.sample_frames import sample_frames


def sample_session_file(folder: Path, steps: int = 40, leak_bytes: int = 0) -> Path:
    """Write the sample session into `folder` and return its path."""
    path = folder / "sample.tscope"
    writer = SessionWriter(path, replace=True)
    for frame in sample_frames(steps, leak_bytes):
        writer.write(frame)
    writer.close()
    return path
