"""Building the native recorder: once, privately, by several at a time, or not at all with a reason."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tensorscope.agent.capture.recorder_build import (
    RecorderBuild,
    RecorderUnavailableError,
    build_library,
    cached_library,
    load_library,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tensorscope"


def counting_compiler(tmp_path: Path, body: str) -> Path:
    script = tmp_path / "compiler"
    script.write_text(f'#!/bin/sh\necho called >> "{tmp_path}/calls"\n{body}\n')
    script.chmod(0o700)
    return script


def test_that_it_is_built_once_into_a_private_directory(cache: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("CXX", str(counting_compiler(tmp_path, 'exec g++ "$@"')))
    assert cached_library() is None
    library = build_library()
    assert library.parent == cache
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert build_library() == cached_library() == library
    assert (tmp_path / "calls").read_text() == "called\n"
    assert [path.name for path in cache.iterdir()] == [library.name]
    assert load_library(library).tsr_create


def test_that_it_compiles_against_the_whole_of_torchs_headers_where_the_light_one_does_not_do(
    cache: Path, tmp_path: Path, monkeypatch
) -> None:
    refuse_light = 'case "$*" in *-std=c++17*) exit 1;; esac; exec g++ "$@"'
    monkeypatch.setenv("CXX", str(counting_compiler(tmp_path, refuse_light)))
    assert load_library(build_library()).tsr_create
    assert (tmp_path / "calls").read_text() == "called\ncalled\n"


def test_that_processes_that_build_at_once_all_get_a_whole_library(cache: Path) -> None:
    code = (
        "from tensorscope.agent.capture.recorder_build import *;"
        "print(load_library(build_library()).tsr_create is not None)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    builders = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [builder.communicate(timeout=120)[0] for builder in builders] == ["True\n"] * 2
    assert len(list(cache.iterdir())) == 1


def test_that_without_a_compiler_the_reason_says_what_to_install(cache: Path, monkeypatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(cache / "nothing"))
    with pytest.raises(RecorderUnavailableError, match=r"no C\+\+ compiler.*Install g\+\+"):
        build_library()


def test_that_scraps_of_killed_compilers_are_removed_after_a_while(cache: Path) -> None:
    cache.mkdir(mode=0o700)
    old, new = cache / "building-old.so", cache / "building-new.so"
    for path in (old, new):
        path.write_bytes(b"half a library")
    os.utime(old, (1, 1))
    library = build_library()
    assert {path.name for path in cache.iterdir()} == {library.name, new.name}


def test_that_a_failing_compiler_is_quoted_and_leaves_no_scraps(
    cache: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv(
        "CXX", str(counting_compiler(tmp_path, "echo 'x.h:1: error: no such luck' >&2; exit 1"))
    )
    with pytest.raises(RecorderUnavailableError, match="error: no such luck"):
        build_library()
    assert list(cache.iterdir()) == []


def test_that_a_directory_that_others_may_write_to_is_not_trusted(
    cache: Path, tmp_path: Path, monkeypatch
) -> None:
    cache.mkdir()
    cache.chmod(0o777)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    (tmp_path / "absent").write_text("a file, so no directory can be made here")
    with pytest.raises(RecorderUnavailableError, match="Set XDG_CACHE_HOME"):
        build_library()


def test_that_a_damaged_library_is_removed_so_that_the_next_start_builds_it(cache: Path) -> None:
    cache.mkdir(mode=0o700)
    broken = cache / "broken.so"
    broken.write_bytes(b"\x7fELF")
    with pytest.raises(RecorderUnavailableError, match="does not load"):
        load_library(broken)
    assert not broken.exists()


def test_that_a_failure_nobody_thought_of_is_a_reason_too() -> None:
    def build() -> Path:
        raise ValueError("surprise")

    made = RecorderBuild(build)
    made.begin(wait=True)
    assert "surprise" in made.problem
    assert made.library is None
