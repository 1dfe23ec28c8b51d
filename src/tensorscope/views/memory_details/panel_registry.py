"""Which panels the memory details view has. Each is imported when its tab is first shown."""

from __future__ import annotations

import importlib

from tensorscope.views.memory_details.memory_panel import MemoryPanel

_PACKAGE = "tensorscope.views.memory_details"
PANEL_CLASSES: dict[str, str] = {
    "map": "map_panel:MapPanel",
    "peaks": "peaks_panel:PeaksPanel",
    "leaks": "leaks_panel:LeaksPanel",
    "saved": "saved_panel:SavedPanel",
    "state": "allocator_panel:AllocatorPanel",
    "verdicts": "verdicts_panel:VerdictsPanel",
    "fit": "fit_panel:FitPanel",
    "compare": "compare_panel:ComparePanel",
    "blocks": "blocks_panel:BlocksPanel",
}
"""Panel id to module and class, in the order of the tabs."""


def build_panel(panel_id: str) -> MemoryPanel:
    """Return a new panel."""
    module, _, name = PANEL_CLASSES[panel_id].partition(":")
    panel: MemoryPanel = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), name)()
    return panel
