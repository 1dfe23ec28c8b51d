"""Which views there are. Each is imported when it is first built: plotting costs most of a second."""

from __future__ import annotations

import importlib

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


def build_view(view_id: str) -> SessionView:
    """Return a new view."""
    module, _, name = VIEW_CLASSES[view_id].partition(":")
    view: SessionView = getattr(importlib.import_module(module), name)()
    return view
