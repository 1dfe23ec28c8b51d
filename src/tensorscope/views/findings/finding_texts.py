"""Translated texts of findings; a rule that is not known here speaks English."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject

from tensorscope.core.finding import Finding
from tensorscope.core.schema import CATEGORIES
from tensorscope.core.units import format_bytes
from tensorscope.views.names import Names

_BYTES = "_bytes"
_LISTS = ("holders", "largest", "names", "rms")
"""Evidence that has a row for each entry."""


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
        template = self._titles().get(finding.code)
        if template is None:
            return finding.title
        return template.format(**{name: _spelt(name, value) for name, value in finding.evidence.items()})

    def _titles(self) -> dict[str, str]:
        return {
            "graph-kept": self.tr(
                "The autograd graph is kept across steps: {bytes_per_step} that it holds stay alive every "
                "step "
                "(steps {first_step} to {last_step})."
            ),
            "live-bytes-grow": self.tr(
                "Live bytes grow every step: {bytes_per_step} allocated in each of steps {first_step} to "
                "{last_step} are still alive."
            ),
            "inplace-write": self.tr(
                "{write_op} ({write_source}) wrote to a tensor that {op} ({source}) had saved for backward, "
                "which failed."
            ),
            "backward-twice": self.tr(
                "{used_by} at {used_source} uses {op} from {source}, whose saved tensors an earlier backward "
                "had freed: backward failed."
            ),
            "graph-reaches-back": self.tr(
                "Backward reaches into earlier steps: {older_nodes} of its {nodes} nodes were made before "
                "the "
                "step began, the newest of them {op} at {source}."
            ),
            "graph-outlives-step": self.tr(
                "{tensors} results keep the graphs of earlier steps alive ({nodes} nodes) when a step ends."
            ),
            "retain-graph": self.tr(
                "Backward {backward} of {backwards} kept its graph (retain_graph=True) and no later backward "
                "used it: {saved_bytes} stay longer than they must."
            ),
            "eval-builds-graph": self.tr(
                "Evaluation builds autograd graphs: {forwards} forwards in eval mode in {steps} steps had "
                "gradients on, and no backward followed."
            ),
            "hooks-pile-up": self.tr("Hooks pile up: {hooks} on parameters and modules in steps {steps}."),
            "saved-cheap": self.tr(
                "{cheap_bytes} of the {saved_bytes} that are saved for backward are saved by operations that "
                "are cheap to compute again."
            ),
            "output-not-finite": self.tr("{module} is the first module whose output is not finite ({kind})."),
            "gradient-not-finite": self.tr(
                "{op} at {source} is the first node that turns a finite gradient into {kind}; {nodes_after} "
                "nodes after it receive one that is not finite."
            ),
            "no-gradient": self.tr("{parameters} trained parameters get no gradient: {first_name}."),
            "stale-optimizer": self.tr(
                "{untrained} parameters get a gradient and are in no optimizer: {first_name}. The optimizer "
                "holds {orphans} tensors that the model does not."
            ),
            "gradients-vanish": self.tr(
                "Gradients of {modules} modules are over a million times smaller than the median module's."
            ),
            "gradients-explode": self.tr(
                "Gradients of {modules} modules are over a million times larger than the median module's."
            ),
        }

    def advice(self, finding: Finding) -> str:
        """Return what to do next."""
        return self._advice().get(finding.code, finding.advice)

    def _advice(self) -> dict[str, str]:
        scale = self.tr(
            "Look at the activations and initialisation on the way to them; normalisation, residual "
            "connections or another activation keep gradients in scale."
        )
        return {
            "graph-kept": self.tr(
                "Something that outlives the step still refers to a result with a grad_fn: a list of losses, "
                "a running sum, or a hidden state. Keep loss.item() or tensor.detach() instead."
            ),
            "live-bytes-grow": self.tr(
                "Look at who keeps the blocks of these modules: a list or cache that only grows, or "
                "predictions and losses that are collected on the device; keep tensor.detach().cpu() or "
                "loss.item() instead."
            ),
            "inplace-write": self.tr(
                "Write to a new tensor instead (x = x + 1, not x += 1), or clone before the write. "
                "Operations "
                "that do not save what they return (addition, convolution, linear) may be followed by one."
            ),
            "backward-twice": self.tr(
                "A result of before is used again with its graph, such as a hidden state: detach it. If both "
                "backwards are meant, add the losses and go backward once."
            ),
            "graph-reaches-back": self.tr(
                "Something computed in an earlier step is used with its graph: a hidden state, a running sum "
                "or cached features. Detach it where the step ends, unless it is meant to be trained through."
            ),
            "graph-outlives-step": self.tr(
                "Keep loss.item() or tensor.detach() instead of the result itself."
            ),
            "retain-graph": self.tr(
                "Leave retain_graph out: saved tensors are then freed while backward runs."
            ),
            "eval-builds-graph": self.tr(
                "Put torch.no_grad() or torch.inference_mode() round the evaluation: eval() alone does not "
                "switch gradients off."
            ),
            "hooks-pile-up": self.tr(
                "Register hooks once, outside of the loop, or remove each handle that is not needed any more."
            ),
            "saved-cheap": self.tr(
                "Where memory is short, checkpoint the modules that hold them (Saved for backward says what "
                "each would bring), or compile them: fused operations save less."
            ),
            "output-not-finite": self.tr(
                "Look at its input and parameters: a division by zero, a logarithm of zero, or an overflow "
                "in "
                "half precision."
            ),
            "gradient-not-finite": self.tr(
                "Its slope is not finite where it was evaluated (a square root or norm at zero, a "
                "logarithm, a "
                "division); torch.where does not help, its unused branch is differentiated, too. Move the "
                "bad "
                "values away before the operation."
            ),
            "no-gradient": self.tr(
                "Unused: the module did not run, or its result is thrown away. Detached: its result left the "
                "graph (detach(), no_grad(), a conversion to numpy or a Python number). Freeze or remove "
                "what "
                "is not meant to be trained."
            ),
            "stale-optimizer": self.tr(
                "Make the optimizer after the model has its final parameters (after replacing layers, "
                "loading, adding heads), or add them with add_param_group."
            ),
            "gradients-vanish": scale,
            "gradients-explode": scale,
        }

    def evidence(self, finding: Finding) -> list[tuple[str, str]]:
        """Return the numbers that prove it, as (name, value)."""
        names = self._evidence_names()
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
            elif key in _LISTS:
                rows += [(names.get(key, key), str(entry)) for entry in value]
            elif key != "first_name":
                rows.append((names.get(key, key), _spelt(key, value)))
        return rows

    def _evidence_names(self) -> dict[str, str]:
        return {
            "first_step": self.tr("First step"),
            "last_step": self.tr("Last step"),
            "bytes_per_step": self.tr("Growth per step"),
            "live_rise_bytes": self.tr("Rise of live bytes"),
            "blocks": self.tr("Blocks still alive"),
            "graph_step": self.tr("Deep step"),
            "saved_still_alive_bytes": self.tr("Its saved tensors still alive"),
            "op": self.tr("Operation"),
            "source": self.tr("Line"),
            "module": self.tr("Module"),
            "saved": self.tr("Saved as"),
            "write_op": self.tr("Written by"),
            "write_source": self.tr("Line of the write"),
            "used_by": self.tr("Used by"),
            "used_source": self.tr("Line of the use"),
            "edges": self.tr("Edges"),
            "older_nodes": self.tr("Nodes of earlier steps"),
            "older_saved_bytes": self.tr("Saved by them"),
            "nodes": self.tr("Nodes"),
            "tensors": self.tr("Tensors"),
            "holders": self.tr("Held by"),
            "backward": self.tr("Backward"),
            "backwards": self.tr("Backwards"),
            "saved_bytes": self.tr("Saved for backward"),
            "cheap_bytes": self.tr("Cheap to compute again"),
            "largest": self.tr("Largest"),
            "forwards": self.tr("Forwards"),
            "steps": self.tr("Steps"),
            "hooks": self.tr("Hooks"),
            "kind": self.tr("Value"),
            "finite_before": self.tr("Finite outputs before it"),
            "outputs": self.tr("Outputs measured"),
            "received_norm": self.tr("Norm of what it received"),
            "nodes_after": self.tr("Nodes after it"),
            "parameters": self.tr("Parameters"),
            "size_bytes": self.tr("Their size"),
            "untrained_bytes": self.tr("Their size"),
            "unused": self.tr("Unused"),
            "detached": self.tr("Detached"),
            "not_used_by_loss": self.tr("Result not used by the loss"),
            "names": self.tr("Parameter"),
            "untrained": self.tr("Not trained"),
            "orphans": self.tr("Only in the optimizer"),
            "modules": self.tr("Modules"),
            "median_rms": self.tr("Median gradient (RMS)"),
            "rms": self.tr("Gradient (RMS)"),
        }

    def _category(self, name: str) -> str:
        return self._names.categories()[CATEGORIES.index(name)] if name in CATEGORIES else name


def _spelt(name: str, value: Any) -> str:
    """Return a piece of evidence as text; "?" where it is empty."""
    if isinstance(value, bool) or value is None or value == "":
        return "?"
    if isinstance(value, (list, tuple)):
        return ", ".join(f"{one:,}" if isinstance(one, int) else str(one) for one in value)
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, int):
        is_bytes = name.endswith(_BYTES) or name.startswith("bytes_")
        return format_bytes(value) if is_bytes else str(value)
    return str(value)
