"""Verdicts in words: what is wrong, what proves it, and the smallest change that cures it."""

from __future__ import annotations

from PySide6.QtCore import QObject

from tensorscope.core.units import format_bytes
from tensorscope.models.verdicts import Verdict


class VerdictTexts(QObject):
    """Sentences for the codes of `models.verdicts`."""

    def severity(self, verdict: Verdict) -> str:
        """Return the name of the severity."""
        names = {"info": self.tr("Note"), "warning": self.tr("Warning"), "error": self.tr("Problem")}
        return names[verdict.severity]

    def title(self, verdict: Verdict) -> str:
        """Return one sentence with the numbers that matter most."""
        size = {name: format_bytes(int(value)) for name, value in verdict.evidence.items()}
        places = ", ".join(verdict.places)
        text = {
            "capacity": self.tr("Out of memory: {requested} asked for, and {used} of {room} were live."),
            "fragmentation": self.tr(
                "Out of memory by fragmentation: {requested} asked for, {idle} idle, but no free "
                "block over {own}."
            ),
            "wrong-domain": self.tr(
                "Out of memory beside free memory: {requested} asked for, {elsewhere} free in one "
                "piece in {places}."
            ),
            "pending-frees": self.tr(
                "Out of memory while frees waited: {requested} asked for, {pending} freed but held "
                "for another stream."
            ),
            "private-pool": self.tr("Out of memory while a private pool held {pool} ({places})."),
            "outside-pytorch": self.tr(
                "Out of memory by others: {outside} of the device are not PyTorch's in this process."
            ),
            "oom-unexplained": self.tr("Out of memory: {requested} asked for; the trace does not say why."),
            "idle-cache": self.tr(
                "{idle} of {reserved} reserved are idle; empty_cache would release {releasable}."
            ),
            "retry-thrash": self.tr(
                "Segments were given back and taken again {cycles} times ({given} in all)."
            ),
            "cross-stream-hold": self.tr("Up to {held} were freed but waited for other streams ({places})."),
        }[verdict.code]
        room = int(verdict.evidence.get("reserved_bytes", 0)) + int(
            verdict.evidence.get("device_free_bytes", 0)
        )
        get = size.get
        return text.format(
            requested=get("requested_bytes", ""), used=get("used_bytes", ""), room=format_bytes(room),
            idle=get("idle_bytes", ""), own=get("largest_free_own_bytes", ""), places=places,
            elsewhere=get("largest_free_elsewhere_bytes", ""), pending=get("pending_bytes", ""),
            pool=get("private_pool_bytes", ""), outside=get("outside_bytes", ""),
            reserved=get("reserved_bytes", ""), releasable=get("releasable_bytes", ""),
            cycles=verdict.evidence.get("cycles", 0), given=get("given_back_bytes", ""),
            held=get("peak_held_bytes", ""),
        )  # fmt: skip

    def advice(self, verdict: Verdict) -> str:
        """Return the smallest change that cures it."""
        text = {
            "capacity": self.tr(
                "The live blocks fill the device: the lines below hold most. Checkpoint what keeps "
                "most for backward, "
                "use bf16, or make the batch smaller."
            ),
            "fragmentation": self.tr(
                "The lines below hold blocks in segments that are mostly empty. Set "
                "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or see What would fit."
            ),
            "wrong-domain": self.tr(
                "Free blocks serve only their own stream and pool. Use fewer streams, or empty_cache "
                "before the switch."
            ),
            "pending-frees": self.tr(
                "record_stream keeps blocks until the other stream has caught up: synchronise or wait "
                "on an event sooner."
            ),
            "private-pool": self.tr(
                "CUDA graphs and memory pools keep what they have taken: release the graph, or share "
                "one pool."
            ),
            "outside-pytorch": self.tr(
                "Other processes or libraries use the device: look at it with nvidia-smi."
            ),
            "oom-unexplained": self.tr(
                "Record with a longer history (max_entries), so that the trace is whole."
            ),
            "idle-cache": self.tr("It is kept to be used again, and harms only others on the device."),
            "retry-thrash": self.tr(
                "Each time the device is waited for. Leave more room, or set expandable_segments:True."
            ),
            "cross-stream-hold": self.tr("The lines below own the blocks: wait on the other stream sooner."),
        }[verdict.code]
        if verdict.unwound:
            text += " " + self.tr(
                "(The state at the end of the file is another: most had been let go by then.)"
            )
        return text

    def evidence(self, verdict: Verdict) -> list[tuple[str, str]]:
        """Return the numbers, each with its name and unit."""
        names = {
            "requested_bytes": self.tr("Asked for"), "rounded_bytes": self.tr("Rounded up"),
            "new_segment_bytes": self.tr("New segment needed"),
            "device_free_bytes": self.tr("Free on the device"), "reserved_bytes": self.tr("Reserved"),
            "used_bytes": self.tr("In use"), "pending_bytes": self.tr("Waiting for a stream"),
            "idle_bytes": self.tr(
                "Idle"), "largest_free_own_bytes": self.tr("Largest free block, same "
                "domain"
            ),
            "largest_free_elsewhere_bytes": self.tr("Largest free block, elsewhere"),
            "private_pool_bytes": self.tr("In private pools"), "rounding_bytes": self.tr("Lost to rounding"),
            "outside_bytes": self.tr("Outside of PyTorch"), "releasable_bytes": self.tr("Releasable"),
            "largest_free_bytes": self.tr("Largest free block"), "pinned_bytes": self.tr("Pinned by little"),
            "cycles": self.tr("Times"), "given_back_bytes": self.tr("Given back"),
            "taken_again_bytes": self.tr("Taken again"), "lost_ns": self.tr("Time between"),
            "peak_held_bytes": self.tr("Held at most"), "blocks": self.tr("Blocks"),
            "held_byte_ms": self.tr("Held over time"), "longest_ns": self.tr("Longest wait"),
            "median_ns": self.tr("Typical wait"),
        }  # fmt: skip
        return [(names.get(name, name), _value(name, value)) for name, value in verdict.evidence.items()]


def _value(name: str, value: float) -> str:
    if name.endswith("_bytes"):
        return format_bytes(int(value))
    if name == "held_byte_ms":
        return f"{value / (1 << 20):,.1f} MiB·ms"
    return f"{value / 1e6:,.3f} ms" if name.endswith("_ns") else f"{value:,}"
