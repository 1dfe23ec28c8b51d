"""Real scripts under the command, with no window."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tensorscope.models.session_loading import load_session
from tests.support.command import TINY, tensorscope, tiny_script


def recorded(path: Path) -> list[int]:
    session = load_session(path)
    assert session.problems == []
    return session.store.tables["step"]["step"].tolist()


def test_that_run_records_a_script_from_its_first_step_to_its_end(tmp_path):
    tiny_script(tmp_path)
    done = tensorscope("run", "--headless", "--record", "a.tscope", "tiny.py", 6, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "first step\nfinished 6\n"), done.stderr
    assert "recorded 6 steps into a.tscope" in done.stderr
    assert recorded(tmp_path / "a.tscope") == list(range(6))


def test_that_run_stops_an_endless_script_after_the_steps_asked_for(tmp_path):
    tiny_script(tmp_path)
    done = tensorscope(
        "run", "--headless", "--record", "a.tscope", "--steps", 4, "tiny.py", 10**9, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "finished" not in done.stdout
    assert len(recorded(tmp_path / "a.tscope")) == 4


def test_that_run_starts_a_module_as_python_does(tmp_path):
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "train.py").write_text(TINY)
    done = tensorscope(
        "run", "--headless", "--record", "a.tscope", "-m", "mine.train", 3, cwd=tmp_path,
        PYTHONPATH=os.environ["PYTHONPATH"],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(recorded(tmp_path / "a.tscope")) == 3


def test_that_a_script_that_fails_keeps_its_error_and_the_session_so_far(tmp_path):
    tiny_script(tmp_path)
    done = tensorscope("run", "--headless", "--record", "a.tscope", "tiny.py", 9, 3, cwd=tmp_path)
    assert done.returncode == 1
    assert "mat1 and mat2 shapes cannot be multiplied" in done.stderr
    assert done.stderr.splitlines()[-1] == "tensorscope: tiny.py ended with exit code 1."
    assert recorded(tmp_path / "a.tscope")[:3] == [0, 1, 2]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def f(:\n", "SyntaxError"),
        ("import nothing_of_that_name\n", "No module named 'nothing_of_that_name'"),
        ("import sys\nsys.exit('no data')\n", "no data"),
    ],
)
def test_that_a_script_that_never_trains_ends_with_its_own_words(source, said, tmp_path):
    (tmp_path / "bad.py").write_text(source)
    done = tensorscope("run", "--headless", "--record", "a.tscope", "bad.py", cwd=tmp_path)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.splitlines()[-1].startswith("tensorscope: bad.py ended with exit code 1")
    assert not (tmp_path / "a.tscope").exists()


def test_that_a_script_without_torch_is_told_so(tmp_path):
    (tmp_path / "plain.py").write_text("print('hello')\n")
    done = tensorscope("run", "--headless", "plain.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "hello\n")
    assert "without importing torch" in done.stderr


def test_that_an_interpreter_without_torch_is_told_what_to_install(tmp_path):
    tiny_script(tmp_path)
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    done = tensorscope("run", "--headless", "--python", bare, "tiny.py", 3, cwd=tmp_path)
    assert done.returncode == 1
    assert "[torch]" in done.stderr


def test_that_a_missing_script_and_a_missing_interpreter_are_named(tmp_path):
    done = tensorscope("run", "--headless", "gone.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "tensorscope: There is no script gone.py.\n")
    tiny_script(tmp_path)
    done = tensorscope("run", "--headless", "--python", "/no/python", "tiny.py", 3, cwd=tmp_path)
    assert done.returncode == 1
    assert "/no/python" in done.stderr


@pytest.fixture
def endless(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the command on an endless script, in a process group that ends with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*options: str) -> subprocess.Popen[str]:
        tiny_script(tmp_path)
        command = [sys.executable, "-m", "tensorscope", "run", "--headless", *options, "tiny.py", str(10**9)]
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "first step\n"
        return process

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def nobody_left(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("to_all", [True, False], ids=["Ctrl-C", "SIGTERM to the command"])
def test_that_an_interrupt_ends_the_script_and_keeps_the_record(to_all, endless, tmp_path):
    process = endless("--record", "a.tscope")
    if to_all:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "steps into a.tscope" in said
    assert nobody_left(process.pid)
    assert recorded(tmp_path / "a.tscope")[0] == 0


def test_that_attach_records_some_steps_and_leaves_the_program_running(endless, tmp_path):
    process = endless()
    assert process.stderr is not None
    address = process.stderr.readline().split()[-1]
    done = tensorscope("attach", address, "--headless", "--steps", 3, "--record", tmp_path / "b.tscope")
    assert done.returncode == 0, done.stderr
    assert len(recorded(tmp_path / "b.tscope")) == 3
    assert process.poll() is None


def test_that_visitors_get_their_steps_and_disturb_neither_each_other_nor_a_recording(endless, tmp_path):
    process = endless("--record", "a.tscope")
    address = process.stderr.readline().split()[-1]
    for number in range(2):
        path = tmp_path / f"visitor{number}.tscope"
        done = tensorscope("attach", address, "--headless", "--steps", 3, "--record", path)
        assert done.returncode == 0, done.stderr
        assert len(recorded(path)) == 3
    last = recorded(path)[-1]
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    steps = recorded(tmp_path / "a.tscope")
    assert steps == list(range(len(steps))), "the recording has every step"
    assert len(steps) > last


def test_that_the_first_step_of_a_visitor_began_when_they_came(endless, tmp_path):
    address = endless().stderr.readline().split()[-1]
    done = tensorscope("attach", address, "--headless", "--steps", 2, "--record", tmp_path / "b.tscope")
    assert done.returncode == 0, done.stderr
    store = load_session(tmp_path / "b.tscope").store
    steps = store.tables["step"]
    before = steps["t0_ns"][0] - store.origin_ns
    assert steps["t1_ns"][0] - steps["t0_ns"][0] < before, "what nobody counted is in no step"


def test_that_a_program_killed_while_attached_leaves_a_file_and_the_reason(endless, tmp_path):
    process = endless()
    assert process.stderr is not None
    address = process.stderr.readline().split()[-1]
    path = tmp_path / "b.tscope"
    command = [sys.executable, "-m", "tensorscope", "attach", address, "--headless", "--record", str(path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as watcher:
        while not path.exists():
            assert watcher.poll() is None
            time.sleep(0.05)
        time.sleep(1)
        os.killpg(process.pid, signal.SIGKILL)
        _, said = watcher.communicate(timeout=60)
    assert watcher.returncode == 1
    assert "killed or crashed" in said
    assert len(recorded(path)) > 0


@pytest.mark.slow
def test_that_the_demo_without_a_display_writes_everything(tmp_path):
    out = tmp_path / "demo"
    done = tensorscope("demo", "--headless", "--steps", 5, "--out", out, timeout=170)
    assert done.returncode == 0, done.stderr
    assert len(recorded(out / "session.tscope")) == 5
    report = json.loads((out / "report.json").read_text())
    assert report["steps"]["count"] == 5
    assert report["memory"]["peak_bytes"] > 0
    assert report["graph"]["nodes"] > 0
    page = (out / "report.html").read_text(encoding="utf-8")
    views = ("steps", "memory", "memory_details", "graph", "tensor", "lab", "findings")
    assert page.count("data:image/png;base64,") == len(views)
    for view in views:
        assert (out / f"{view}.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
