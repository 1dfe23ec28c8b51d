"""The window ends well when it is told to end from outside."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.support.command import TINY

_WINDOW = """
import sys
from PySide6.QtCore import QTimer
from tensorscope.app import application
from tensorscope.launch.target import TargetOptions
start_request = application.start_request
def start(window, request):
    start_request(window, request)
    QTimer.singleShot(0, lambda: print("started", flush=True))
application.start_request = start
script = TargetOptions(sys.argv[1:], quiet=True) if sys.argv[1:] else None
sys.exit(application.run_window(application.WindowRequest(script=script)))
"""


def window_process(*arguments: object) -> subprocess.Popen:
    """Start a window; signals are as in a shell, whoever runs the tests."""

    def default_signals() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

    return subprocess.Popen(
        [sys.executable, "-c", _WINDOW, *map(str, arguments)],
        stdout=subprocess.PIPE, text=True, preexec_fn=default_signals,
    )  # fmt: skip


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_that_a_window_with_nothing_to_do_hears_the_signal(number):
    with window_process() as process:
        assert process.stdout.readline() == "started\n"
        process.send_signal(number)
        assert process.wait(30) == 0


def test_that_the_program_of_a_demo_ends_with_its_window(tmp_path):
    script, pid_file = tmp_path / "train.py", tmp_path / "pid"
    tell = f"import os; open({str(pid_file)!r}, 'w').write(str(os.getpid()))"
    script.write_text(TINY.replace('print("first step", flush=True)', tell))
    with window_process(script, 10**9) as process:
        deadline = time.monotonic() + 90
        while not pid_file.exists() or not pid_file.read_text():
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)
        pid = int(pid_file.read_text())
        assert is_running(pid)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert not is_running(pid)
