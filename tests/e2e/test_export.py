"""`tensorscope export` writes every view in every format, by the code of the window's menu."""

import csv
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from tensorscope.cli import main
from tensorscope.cli.export_command import VIEWS
from tensorscope.models.session_loading import load_session
from tests.support.command import tensorscope
from tests.support.sample_file import sample_session_file


@pytest.fixture(scope="module")
def session_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_session_file(tmp_path_factory.mktemp("session"), steps=8)


def export(file: Path, view: str, file_format: str, out: Path, *more: str) -> int:
    return main(["export", str(file), "--view", view, "--format", file_format, "--out", str(out), *more])


@pytest.mark.parametrize("view", VIEWS)
def test_that_a_view_is_written_as_picture_drawing_and_table(view, session_file, tmp_path, qapp):
    paths = {file_format: tmp_path / f"view.{file_format}" for file_format in ("png", "svg", "csv")}
    for file_format, path in paths.items():
        assert export(session_file, view, file_format, path) == 0
    image = QImage(str(paths["png"]))
    assert image.width() > 200
    assert image.height() > 200
    assert ElementTree.parse(paths["svg"]).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    with paths["csv"].open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert len({len(row) for row in rows}) == 1
    assert len(rows) >= 1


def test_that_a_table_says_what_the_file_holds(session_file, tmp_path, qapp):
    path = tmp_path / "steps.csv"
    assert export(session_file, "steps", "csv", path) == 0
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == list(range(8))


def test_that_the_dark_theme_is_dark(session_file, tmp_path, qapp):
    levels = {}
    for theme in ("light", "dark"):
        path = tmp_path / f"{theme}.png"
        assert export(session_file, "findings", "png", path, "--theme", theme) == 0
        levels[theme] = QImage(str(path)).scaled(1, 1).pixelColor(0, 0).lightness()
    assert levels["dark"] < 100 < levels["light"]


def test_that_the_graph_is_written_for_graphviz_and_no_other_view_is(session_file, tmp_path, capsys, qapp):
    assert export(session_file, "graph", "dot", tmp_path / "graph.dot") == 0
    assert (tmp_path / "graph.dot").read_text().startswith("digraph")
    assert export(session_file, "steps", "dot", tmp_path / "steps.dot") == 1
    assert "choose one of png, svg, csv" in capsys.readouterr().err


def test_that_a_selected_tensor_is_drawn(session_file, tmp_path, qapp):
    plain, selected = tmp_path / "plain.png", tmp_path / "selected.png"
    assert export(session_file, "tensor", "png", plain) == 0
    record = load_session(session_file)
    name = record.store.string(int(record.store.records("tensors")[0].columns["name"][0]))
    assert export(session_file, "tensor", "png", selected, "--select", name) == 0
    assert QImage(str(plain)) != QImage(str(selected))


def test_that_a_place_that_cannot_be_written_is_named(session_file, tmp_path, capsys, qapp):
    path = tmp_path / "no" / "steps.png"
    assert export(session_file, "steps", "png", path) == 1
    said = capsys.readouterr().err
    assert said.startswith("tensorscope: Cannot write")
    assert str(path) in said


def test_that_an_export_says_nothing_where_all_is_well(session_file, tmp_path):
    out = tmp_path / "steps.png"
    done = tensorscope("export", session_file, "--view", "steps", "--format", "png", "--out", out)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
