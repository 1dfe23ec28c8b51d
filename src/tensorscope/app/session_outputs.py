"""Views of a session as files, without a window: by the same code as the window's menu."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PySide6.QtWidgets import QApplication, QWidget

from tensorscope.app.offscreen import gui_application
from tensorscope.app.theme import apply_theme
from tensorscope.app.view_registry import VIEW_CLASSES, build_view
from tensorscope.compute.strides import TRANSPOSED
from tensorscope.core.errors import DataError, SessionFileError
from tensorscope.models.report import build_report
from tensorscope.models.report_html import report_html
from tensorscope.models.selection import Selection
from tensorscope.models.session_loading import load_session
from tensorscope.models.session_model import SessionModel
from tensorscope.models.tensor_model import TensorRows
from tensorscope.views.graph.graph_view import GraphView
from tensorscope.views.memory_details.memory_details_view import MemoryDetailsView
from tensorscope.views.memory_details.panel_registry import PANEL_CLASSES
from tensorscope.views.session_view import SessionView

WIDTH_PX, HEIGHT_PX = 1400, 900
_IDLE_SECONDS = 60.0


def settle(view: SessionView, seconds: float = _IDLE_SECONDS) -> None:
    """Run the event loop until `view` has nothing left to compute, at most `seconds`."""
    deadline = time.monotonic() + seconds
    quiet = 0
    while quiet < 3 and time.monotonic() < deadline:
        QApplication.processEvents()
        view.refresh()
        quiet = quiet + 1 if view.is_idle() else 0
        time.sleep(0.01)
    QApplication.processEvents()


@dataclass(frozen=True)
class Showing:
    """What of a view is written.

    Attributes
    ----------
    panel
        Of the memory details.
    everything
        The whole session, where the window would begin with the last steps.
    expand
        Of the graph, see `expanded_by`; None: as deep as can be read.
    """

    panel: str | None = None
    everything: bool = False
    expand: str | None = None


def export_view(
    session: SessionModel, view_id: str, file_format: str, path: Path, theme: str = "light",
    showing: Showing = Showing(),
) -> None:  # fmt: skip
    """Write one view of `session`, or a part of it; raises `SessionFileError` with the reason."""
    apply_theme(gui_application(), theme)
    view = build_view(view_id)
    if file_format not in view.formats:
        known = ", ".join(view.formats)
        raise SessionFileError(
            f"The {view_id} view cannot be written as {file_format}: choose one of {known}."
        )
    host = QWidget()  # the offscreen platform complains about top-level windows that have size hints
    host.resize(WIDTH_PX, HEIGHT_PX)
    try:
        view.setParent(host)
        view.resize(WIDTH_PX, HEIGHT_PX)
        view.set_session(session)
        host.show()
        _show(view, showing)
        settle(view)
        view.export(path, file_format)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SessionFileError(f"Cannot write the {view_id} view to {path}: {reason}.") from None
    finally:
        host.close()
        host.deleteLater()


def _show(view: SessionView, showing: Showing) -> None:
    if showing.panel is not None and isinstance(view, MemoryDetailsView):
        view.show_panel(showing.panel)
    if showing.everything:
        view.show_everything()
    if showing.expand is not None and isinstance(view, GraphView):
        settle(view)
        view.expand(showing.expand)


def write_outputs(record: Path, folder: Path) -> list[Path]:
    """Write pictures of every view and the report of session file `record`; return all paths."""
    session = load_session(record)
    for problem in session.problems:
        sys.stderr.write(f"tensorscope: {problem}\n")
    select_example(session)
    pictures = {view_id: folder / f"{view_id}.png" for view_id in VIEW_CLASSES}
    for view_id, path in pictures.items():
        export_view(session, view_id, "png", path)
    panels = {panel: folder / f"memory_details-{panel}.png" for panel in PANEL_CLASSES}
    for panel, path in panels.items():
        export_view(session, "memory_details", "png", path, showing=Showing(panel))
    report = build_report(session.store)
    texts = {
        folder / "report.json": json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False),
        folder / "report.html": report_html(
            report, {name: path.read_bytes() for name, path in pictures.items()}
        ),
    }
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return [record, *texts, *pictures.values(), *panels.values()]


def select_example(session: SessionModel) -> None:
    """Select a tensor whose layout is worth a picture: the first that is not packed, else the first."""
    record = session.store.record_at("tensors", session.current_step)
    if record is None:
        return
    try:
        rows = TensorRows(record, session.store.string)
    except DataError:
        return  # the tensor view says so itself
    unpacked = np.flatnonzero(rows.layout >= TRANSPOSED)
    if len(rows):
        session.select(Selection(tensor=rows.text("name", int(unpacked[0]) if len(unpacked) else 0)))
