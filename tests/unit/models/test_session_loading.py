"""What is no file is refused at once."""

import os
from pathlib import Path

import pytest

from tensorscope.core.errors import SessionFileError
from tensorscope.models.session_loading import load_session


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_that_what_is_no_file_is_named_and_not_waited_for(make, tmp_path: Path) -> None:
    place = tmp_path / "a.tscope"
    make(place)
    with pytest.raises(SessionFileError, match="no file, but a folder, pipe or device"):
        load_session(place)
