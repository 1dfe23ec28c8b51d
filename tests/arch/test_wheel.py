"""What a wheel holds is found from where the wheel was installed."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_LOOK = """
import tensorscope
from tensorscope.core.resource_paths import cuda_ext_path, resource_path
print(tensorscope.__file__)
print(resource_path("demos/char_gpt.py"))
print(cuda_ext_path("allocator_recorder.cpp"))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build with the back end that is installed: no network, no isolation."""
    folder = tmp_path_factory.mktemp("wheel")
    code = f"import hatchling.build; print(hatchling.build.build_wheel({str(folder)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.split()[-1]


def test_that_an_installed_wheel_finds_its_resources(wheel, tmp_path):
    target = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", target, wheel], check=True, stdin=subprocess.DEVNULL)
    environment = {**os.environ, "PYTHONPATH": str(target)}
    done = subprocess.run(
        [sys.executable, "-c", _LOOK],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert all(line.startswith(str(target)) for line in done.stdout.splitlines()), done.stdout
    assert (target / "bin" / "tensorscope").exists()


def test_that_the_wheel_holds_no_tests_and_no_built_scraps(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "tensorscope/cuda_ext/light/ATen/record_function.h" in names
    assert [n for n in names if n.startswith("tests") or n.endswith((".so", ".pyc", ".o", ".gitkeep"))] == []
