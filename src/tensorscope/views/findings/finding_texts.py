"""Translated texts of findings; a rule that is not known here speaks English."""

from __future__ import annotations

from PySide6.QtCore import QObject

from tensorscope.core.finding import Finding
from tensorscope.core.schema import CATEGORIES
from tensorscope.core.units import format_bytes
from tensorscope.views.names import Names

_BYTES = "_bytes"


class FindingTexts(QObject):
    """Titles, advice and evidence in the language of the window."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._names = Names(self)

    def severity(self, finding: Finding) -> str:
        """Return the name of a severity."""
        names = {"info": self.tr("Note"), "warning": self.tr("Warning"), "error": self.tr("Problem")}
        return names.get(finding.severity, finding.severity)

    def title(self, finding: Finding) -> str:
        """Return the finding as one sentence."""
        templates = {
            "graph-kept": self.tr(
                "The autograd graph is kept across steps: {size} that it holds stay alive every step "
                "(steps {first} to {last})."
            ),
            "live-bytes-grow": self.tr(
                "Live bytes grow every step: {size} allocated in each of steps {first} to {last} "
                "are still alive."
            ),
        }
        template = templates.get(finding.code)
        evidence = finding.evidence
        if template is None:
            return finding.title
        return template.format(
            size=format_bytes(evidence["bytes_per_step"]),
            first=evidence["first_step"],
            last=evidence["last_step"],
        )

    def advice(self, finding: Finding) -> str:
        """Return what to do next."""
        texts = {
            "graph-kept": self.tr(
                "Something that outlives the step still refers to a result with a grad_fn: a list of losses, "
                "a running sum, or a hidden state. Keep loss.item() or tensor.detach() instead."
            ),
            "live-bytes-grow": self.tr(
                "Look at who keeps the blocks of these modules: a list or cache that only grows, or "
                "predictions and losses that are collected on the device; keep tensor.detach().cpu() or "
                "loss.item() instead."
            ),
        }
        return texts.get(finding.code, finding.advice)

    def evidence(self, finding: Finding) -> list[tuple[str, str]]:
        """Return the numbers that prove it, as (name, value)."""
        names = {
            "first_step": self.tr("First step"),
            "last_step": self.tr("Last step"),
            "bytes_per_step": self.tr("Growth per step"),
            "live_rise_bytes": self.tr("Rise of live bytes"),
            "blocks": self.tr("Blocks still alive"),
            "graph_step": self.tr("Deep step"),
            "saved_still_alive_bytes": self.tr("Its saved tensors still alive"),
        }
        rows = []
        for key, value in finding.evidence.items():
            if key == "top_modules":
                rows += [
                    (self.tr("In {module}").format(module=entry["module"] or self.tr("no module")),
                     format_bytes(entry["bytes"]))
                    for entry in value
                ]  # fmt: skip
            elif key == "by_category_bytes":
                rows += [(self._category(name), format_bytes(size)) for name, size in value.items()]
            else:
                is_bytes = key.endswith(_BYTES) or key.startswith("bytes_")
                rows.append((names.get(key, key), format_bytes(value) if is_bytes else str(value)))
        return rows

    def _category(self, name: str) -> str:
        return self._names.categories()[CATEGORIES.index(name)] if name in CATEGORIES else name
