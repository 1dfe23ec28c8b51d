"""The command as a build server uses it: tables, JSON, limits and exit codes."""

import json

import pytest

from tensorscope.cli import main
from tests.support.random_snapshots import ToyAllocator, write_snapshot
from tests.support.sample_file import sample_session_file


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    found = {}
    for name, leak_bytes in (("plain", 0), ("leak", 50_000)):
        (folder / name).mkdir()
        found[name] = sample_session_file(folder / name, leak_bytes=leak_bytes)
    found["snapshot"] = write_snapshot(ToyAllocator(1).run(300).snapshot(), folder / "a.pickle")
    return found


def test_that_equal_files_are_within_every_limit(files, capsys):
    limits = ["--max-peak", "+0%", "--max-step-time", "+1%", "--max-growth", "0"]
    assert main(["compare", str(files["plain"]), str(files["plain"]), *limits]) == 0
    assert "peak bytes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        (["--max-peak", "+1KiB"], 3), (["--max-peak", "+900%"], 0), (["--max-peak", "+100MiB"], 0),
        (["--max-growth", "49999"], 3), (["--max-growth", "50000"], 0), (["--max-growth", "1MiB"], 0),
        (["--max-reserved-ratio", "1.5"], 3),
    ],
)  # fmt: skip
def test_that_limits_decide_the_exit_code_and_say_which(files, limit, code, capsys):
    assert main(["compare", str(files["plain"]), str(files["leak"]), *limit]) == code
    assert bool(capsys.readouterr().err) == (code == 3)


def test_that_json_has_the_documented_fields(files, capsys):
    assert main(["compare", str(files["plain"]), str(files["leak"]), "--json", "--max-growth", "1"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "tensorscope-compare/1"
    assert set(found) == {"schema", "a", "b", "totals", "categories", "modules", "modules_are", "exceeded"}
    growth = next(one for one in found["totals"] if one["name"] == "growth_bytes_per_step")
    assert growth["b"] == 50_000
    assert len(found["exceeded"]) == 1


def test_that_a_snapshot_compares_with_a_recording(files, capsys):
    assert main(["compare", str(files["snapshot"]), str(files["plain"])]) == 0
    assert "reserved bytes" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--max-peak", "much"], ["--steps", "9:3"], ["--max-growth", "5%"]])
def test_that_a_wrong_limit_is_a_wrong_command_line(files, arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["compare", str(files["plain"]), str(files["plain"]), *arguments])
    assert ended.value.code == 2
    assert "argument" in capsys.readouterr().err


def test_that_a_missing_file_is_not_an_exceeded_limit(files, capsys):
    assert main(["compare", str(files["plain"]), "no-such-file.tscope"]) == 1
    assert "no-such-file" in capsys.readouterr().err
