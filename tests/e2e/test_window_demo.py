"""The window on a real screen, the demo in a process of its own, from the first step to the last."""

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from tests.support.xvfb import x_display

MARK = "TENSORSCOPE_TEST_MARK"


def processes_with(mark: str) -> list[str]:
    """Return the command lines of all processes that were started with `mark` in their environment."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and process.name != str(os.getpid()):
            try:
                if mark.encode() in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:  # another user's, or gone
                continue
    return found


@pytest.mark.slow
def test_that_a_person_can_look_into_the_running_demo_and_change_it(tmp_path):
    mark = f"{MARK}={uuid.uuid4()}"
    with x_display() as display:
        environment = {
            **os.environ, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb", "OMP_NUM_THREADS": "1",
            MARK: mark.partition("=")[2],
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "tests.e2e.window_demo", str(tmp_path)], check=False, timeout=170,
            env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["problem"] == "", seen["problem"] + done.stderr
    assert seen["exit_code"] == 0
    assert not seen["torch"]
    assert seen["status"].startswith("char_gpt.py (pid ")
    assert seen["items"][1] > seen["items"][0], "expanding a module shows more"
    variants = {int(step): name for step, name in seen["variants"].items()}
    before = {name for step, name in variants.items() if step < seen["switched_at"]}
    after = {name for step, name in variants.items() if step > seen["switched_at"]}
    assert before == {""}
    assert len(after) == 1
    assert "autocast" in after.pop()
    assert seen["button"] == "Switch off"
    picture = QImage(str(tmp_path / "graph.png"))
    assert picture.width() > 200
    assert picture.height() > 200
    assert seen["problems"] == []
    assert [text for text in seen["notices"] if not text.startswith("info")] == []
    assert seen["target_exit_code"] == 0, seen["target_said"]
    assert seen["target_said"].splitlines()[-1] == "stopped"
    assert processes_with(mark) == []
    assert "Traceback" not in done.stderr
