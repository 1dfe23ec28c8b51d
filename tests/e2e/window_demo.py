"""The process of `test_window_demo`: the real window on the real demo, used as a person would."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from PySide6.QtCore import QPoint, QPointF, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QFileDialog, QPushButton, QTableView, QWidget

from tensorscope.app import application as app
from tensorscope.app.main_window import MainWindow
from tensorscope.app.view_registry import VIEW_CLASSES
from tensorscope.core.resource_paths import resource_path
from tensorscope.launch.target import Target, TargetOptions
from tensorscope.models.graph_model import CLUSTER
from tests.support.window_driver import Script, WindowDriver

ARGUMENTS = ("--layers", "2", "--width", "64", "--heads", "4", "--batch-size", "4", "--context", "64",
             "--threads", "1")  # fmt: skip
LEFT = Qt.MouseButton.LeftButton


def found(parent: QWidget, kind: type, name: str) -> Any:
    widget = parent.findChild(kind, name)
    assert widget is not None, f"there is no {kind.__name__} {name}"
    return widget


class Person:
    """What is done with the window, and what was seen meanwhile."""

    def __init__(self, window: MainWindow, folder: Path) -> None:
        self.window = window
        self.picture = folder / "graph.png"
        self.folder = folder
        self.seen: dict[str, Any] = {}
        self.target: Target | None = None

    @property
    def session(self) -> Any:
        return self.window.controller.session

    def script(self) -> Script:
        yield from self.wait_for_steps()
        yield from self.select_a_tensor()
        yield from self.expand_a_module()
        yield from self.switch_autocast()
        yield from self.export_the_graph()
        self.window.grab().save(str(self.folder / "window.png"))
        self.seen["notices"] = [f"{n.severity}: {n.text}" for n in self.window.notices.notices]
        self.seen["problems"] = list(self.session.problems)
        self.seen["steps"] = self.session.recorded_steps

    def wait_for_steps(self) -> Script:
        yield lambda: self.session is not None and self.session.recorded_steps >= 5
        self.target = self.window.controller.target
        assert self.target is not None
        yield lambda: set(self.window.views) == set(VIEW_CLASSES)
        yield lambda: self.window.status.text("state") == "Live"
        self.seen["status"] = self.window.status.text("target")

    def select_a_tensor(self) -> Script:
        self.window.raise_panel("tensor")
        table = found(self.window.view("tensor"), QTableView, "tensorTable")
        yield lambda: table.isVisible() and table.model().rowCount() > 10
        before = self.session.selection.tensor
        row = 3
        table.scrollToTop()
        yield lambda: table.visualRect(table.model().index(row, 0)).isValid()
        at = table.visualRect(table.model().index(row, 0)).center()
        QTest.mouseClick(table.viewport(), LEFT, pos=at)
        yield lambda: self.session.selection.tensor not in (None, "", before)
        assert self.session.selection.tensor == table.model().index(row, 0).data()
        self.seen["tensor"] = self.session.selection.tensor

    def expand_a_module(self) -> Script:
        self.window.raise_panel("graph")
        view = self.window.view("graph")
        yield lambda: view.isVisible() and view.picture() is not None and view.is_idle()
        canvas, picture = view.canvas, view.picture()
        closed = [
            item for item in range(picture.count)
            if picture.shown.group[item] >= 0 and picture.shown.kind[item] != CLUSTER
        ]  # fmt: skip
        assert closed, "there is no module to expand"
        item = closed[0]
        canvas.centre_on(item)
        shape = picture.geometry
        at = canvas.to_screen(QPointF((shape.x0[item] + shape.x1[item]) / 2, shape.y0[item] + 6))
        assert canvas.item_at(at) == item
        QTest.mouseDClick(canvas, LEFT, pos=at.toPoint())
        yield lambda: view.is_idle() and view.picture() is not picture
        self.seen["module"] = picture.titles[item]
        self.seen["items"] = [picture.count, view.picture().count]

    def switch_autocast(self) -> Script:
        self.window.raise_panel("lab")
        lab = self.window.view("lab")
        yield lambda: lab.findChild(QWidget, "labToggle_autocast") is not None
        row = found(lab, QWidget, "labToggle_autocast")
        found(row, QComboBox, "labChoice_dtype").setCurrentText("bfloat16")
        switch = found(row, QPushButton, "labToggleSwitch")
        yield switch.isEnabled
        QTest.mouseClick(switch, LEFT, pos=QPoint(8, 8))
        store = self.session.store
        yield lambda: len(store.records("toggle")) == 1
        step = store.records("toggle")[0].step
        yield lambda: self.session.last_step >= step + 4
        table = store.tables["step"]
        variants = {
            int(number): store.string(int(variant))
            for number, variant in zip(table["step"], table["variant"], strict=True)
        }
        self.seen["switched_at"] = step
        self.seen["variants"] = variants
        self.seen["button"] = switch.text()

    def export_the_graph(self) -> Script:
        self.window.raise_panel("graph")
        view = self.window.view("graph")
        yield lambda: view.isVisible() and view.is_idle()
        view.canvas.setFocus()
        QTimer.singleShot(0, self.window.actions_by_id["file.export"].trigger)
        yield lambda: isinstance(QApplication.activeModalWidget(), QFileDialog)
        dialog = QApplication.activeModalWidget()
        dialog.selectFile(str(self.picture))
        dialog.accept()
        yield lambda: QApplication.activeModalWidget() is None and self.picture.exists()


def main() -> None:
    folder = Path(sys.argv[1])
    people: list[Person] = []
    drivers: list[WindowDriver] = []
    start_request = app.start_request

    def start_and_drive(window: MainWindow, request: app.WindowRequest) -> None:
        start_request(window, request)
        people.append(Person(window, folder))
        drivers.append(WindowDriver(window, people[0].script()))

    app.start_request = start_and_drive
    demo = str(resource_path("demos/char_gpt.py"))
    code = app.run_window(app.WindowRequest(script=TargetOptions([demo, *ARGUMENTS], quiet=True)))
    person, seen = people[0], people[0].seen
    if person.target is not None:
        seen["target_exit_code"] = person.target.process.wait(60)
        seen["target_said"] = person.target.output_tail()
    seen |= {"problem": drivers[0].problem, "exit_code": code, "torch": "torch" in sys.modules}
    (folder / "seen.json").write_text(json.dumps(seen))


if __name__ == "__main__":
    main()
