"""Which views there are. Each is imported when it is first built: plotting costs most of a second."""

from __future__ import annotations

import importlib
import threading
from contextlib import suppress

from PySide6.QtCore import QObject, Signal

from tensorscope.views.session_view import SessionView

VIEW_CLASSES = {
    "steps": "tensorscope.views.steps.steps_view:StepsView",
    "memory": "tensorscope.views.memory.memory_view:MemoryView",
    "memory_details": "tensorscope.views.memory_details.memory_details_view:MemoryDetailsView",
    "graph": "tensorscope.views.graph.graph_view:GraphView",
    "tensor": "tensorscope.views.tensor.tensor_view:TensorView",
    "lab": "tensorscope.views.lab.lab_view:LabView",
    "findings": "tensorscope.views.findings.findings_view:FindingsView",
}
"""View id to its class, in the order of menus and shortcuts."""


class ViewImport(QObject):
    """Imports every view in a thread, so that the window answers meanwhile. Lives in the GUI thread."""

    done = Signal()

    def start(self) -> None:
        """Begin; `done` comes however it ends: what cannot be imported fails again when it is built."""
        threading.Thread(target=self._run, name="tensorscope-view-import", daemon=True).start()

    def _run(self) -> None:
        for path in VIEW_CLASSES.values():
            with suppress(Exception):
                importlib.import_module(path.partition(":")[0])
        with suppress(RuntimeError):  # the window was closed meanwhile
            self.done.emit()


def build_view(view_id: str) -> SessionView:
    """Return a new view."""
    module, _, name = VIEW_CLASSES[view_id].partition(":")
    view: SessionView = getattr(importlib.import_module(module), name)()
    return view
