import csv

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel

from tensorscope.views.csv_file import write_csv
from tensorscope.views.lab.lab_view import LabView
from tensorscope.views.memory.memory_view import MemoryView
from tensorscope.views.picture import PNG_SCALE, write_picture
from tensorscope.views.steps.steps_view import StepsView
from tests.support.sessions import sample_session


@pytest.mark.parametrize("kind", [MemoryView, StepsView, LabView])
def test_that_a_view_is_written_as_a_picture_and_as_vectors(qtbot, tmp_path, kind):
    view = kind()
    qtbot.addWidget(view)
    view.resize(800, 500)
    view.show()
    view.set_session(sample_session())
    qtbot.waitUntil(view.is_idle)
    view.export(tmp_path / "view.png", "png")
    assert QImage(str(tmp_path / "view.png")).size() == view.size() * PNG_SCALE
    view.export(tmp_path / "view.svg", "svg")
    text = (tmp_path / "view.svg").read_text()
    assert "</svg>" in text
    assert text.count("<text") + text.count("<path") > 20


def test_that_nothing_is_left_behind_when_a_file_cannot_be_written(qtbot, tmp_path):
    label = QLabel("x")
    qtbot.addWidget(label)
    with pytest.raises(OSError, match="missing"):
        write_picture(label, tmp_path / "missing" / "a.png", "png")
    with pytest.raises(OSError, match="png or svg"):
        write_picture(label, tmp_path / "a.bmp", "bmp")
    with pytest.raises(ZeroDivisionError):
        write_csv(tmp_path / "a.csv", ["x"], (1 / 0 for _ in range(1)))
    assert list(tmp_path.iterdir()) == []


def test_that_a_table_is_read_back_as_it_was_written(tmp_path):
    write_csv(tmp_path / "a.csv", ["name", "size_bytes"], [['激活, "x"', 1], ["–", 2]])
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [["name", "size_bytes"], ['激活, "x"', "1"], ["–", "2"]]
