"""The command line: what is imported when, exit codes, messages."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tensorscope.cli import VERBS, main
from tensorscope.core.version import VERSION
from tests.support.command import tensorscope, without_display
from tests.support.sample_file import sample_session_file

HEAVY = ("PySide6", "pyqtgraph", "torch", "numpy", "psygnal", "tensorscope.app", "tensorscope.agent")


def test_that_version_is_told_without_importing_anything_heavy():
    code = (
        "import sys\nfrom tensorscope.cli import main\n"
        "try:\n    main(['--version'])\nexcept SystemExit as end:\n    print(end.code)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"tensorscope {VERSION}", "0", "[]"]


@pytest.mark.parametrize("verb", VERBS)
def test_that_every_verb_has_help_with_examples(verb, capsys):
    with pytest.raises(SystemExit) as end:
        main([verb, "--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert f"tensorscope {verb}" in said.partition("examples:")[2]


@pytest.mark.parametrize(
    "arguments",
    [
        ["dance"],
        ["run"],
        ["run", "--steps", "0", "x.py"],
        ["run", "--steps", "many", "x.py"],
        ["run", "--level", "deep", "x.py"],
        ["attach"],
        ["open"],
        ["export", "x.tscope", "--view", "sound", "--format", "png", "--out", "x.png"],
        ["export", "x.tscope", "--view", "steps", "--out", "x.png"],
        ["report", "x.tscope", "--json", "--html", "x.html"],
        ["demo", "--steps", "-3"],
    ],
)
def test_that_a_wrong_command_line_ends_with_2_and_the_usage(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("usage: tensorscope")


@pytest.mark.parametrize("verb", ["open", "report"])
def test_that_a_missing_file_is_named(verb, tmp_path, capsys):
    path = tmp_path / "gone.tscope"
    assert main([verb, str(path)]) == 1
    assert str(path) in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"not a session at all", b"SQLite format 3\0" + bytes(4000)])
def test_that_a_file_that_is_no_session_is_refused_in_one_line(content, tmp_path, capsys):
    path = tmp_path / "bad.tscope"
    path.write_bytes(content)
    assert main(["open", str(path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("tensorscope: ")
    assert str(path) in said
    assert len(said.splitlines()) == 1


def test_that_without_a_display_the_window_is_refused_with_advice(tmp_path):
    path = sample_session_file(tmp_path, steps=2)
    done = subprocess.run(
        [sys.executable, "-m", "tensorscope", "open", str(path)],
        capture_output=True, text=True, env=without_display(), check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "no display" in done.stderr
    assert "tensorscope report" in done.stderr


def test_that_an_existing_record_is_never_overwritten(tmp_path, capsys):
    path = tmp_path / "a.tscope"
    path.write_text("mine")
    assert main(["run", "--headless", "--record", str(path), "x.py"]) == 1
    assert "exists already" in capsys.readouterr().err
    assert path.read_text() == "mine"


def test_that_a_process_without_an_agent_is_explained(capsys):
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            assert main(["attach", str(process.pid)]) == 1
        finally:
            process.kill()
    assert f"Process {process.pid} is not a Python process." in capsys.readouterr().err
    assert main(["attach", str(process.pid)]) == 1
    assert f"Process {process.pid} has ended." in capsys.readouterr().err


def test_that_a_python_process_without_torch_is_told_apart(capsys):
    code = "import time; print('up', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            process.stdout.readline()
            assert main(["attach", str(process.pid)]) == 1
        finally:
            process.kill()
    assert "has not imported torch" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["somewhere", "tcp:10.0.0.1:7000", "tcp:127.0.0.1:none", "unix:"])
def test_that_a_wrong_address_is_refused(address, tmp_path, capsys):
    assert main(["attach", address, "--headless", "--record", str(tmp_path / "x.tscope")]) == 1
    assert repr(address) in capsys.readouterr().err


def test_that_doctor_finds_what_the_tests_need_and_names_what_an_interpreter_lacks(tmp_path):
    fine = tensorscope("doctor")
    assert fine.returncode == 0, fine.stdout + fine.stderr
    assert "Everything needed is there." in fine.stdout
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    done = tensorscope("doctor", "--python", bare)
    assert "No module named 'torch'" in done.stdout
    assert "[torch]" in done.stdout


def test_that_doctor_fails_where_the_runtime_directory_is_open_to_others(tmp_path):
    folder = tmp_path / "tensorscope"
    folder.mkdir()
    folder.chmod(0o777)
    done = tensorscope("doctor", XDG_RUNTIME_DIR=str(tmp_path))
    assert done.returncode == 1
    assert f"chmod 700 {folder}" in done.stdout


def test_that_the_module_runs_as_the_command():
    assert tensorscope("--version").stdout == f"tensorscope {VERSION}\n"


def test_that_report_prints_json_of_the_documented_parts(tmp_path, capsys):
    assert main(["report", str(sample_session_file(tmp_path, steps=6)), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    wanted = {"schema", "session", "target", "steps", "memory", "graph", "tensors", "findings"}
    assert wanted <= report.keys()
    assert report["steps"]["count"] == 6


def test_that_report_writes_one_page_that_needs_nothing_else(tmp_path):
    page = tmp_path / "run.html"
    assert main(["report", str(sample_session_file(tmp_path, steps=6)), "--html", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.lstrip().lower().startswith("<!doctype html>")
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "https://" not in text


def test_that_a_report_into_no_folder_fails_with_the_reason(tmp_path, capsys):
    file = sample_session_file(tmp_path, steps=3)
    assert main(["report", str(file), "--html", str(tmp_path / "no" / "run.html")]) == 1
    assert "Cannot write" in capsys.readouterr().err


def test_that_resources_lie_where_they_are_looked_for():
    from tensorscope.core.resource_paths import cuda_ext_path, resource_path

    assert resource_path("demos/char_gpt.py").is_file()
    assert cuda_ext_path("allocator_recorder.cpp").is_file()
    with pytest.raises(FileNotFoundError, match=r"no\.svg is neither at"):
        resource_path("no.svg")


def test_that_the_demo_imports_nothing_of_ours():
    from tensorscope.core.resource_paths import resource_path

    source = resource_path("demos/char_gpt.py").read_text()
    assert "tensorscope" not in source.lower()


def test_that_ci_can_run_its_script():
    script = Path(__file__).resolve().parents[3] / ".ci" / "run"
    assert os.access(script, os.X_OK)
