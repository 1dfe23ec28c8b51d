"""What the comparison of allocator settings says, in the person's language."""

from __future__ import annotations

from PySide6.QtCore import QObject

from tensorscope.compute.allocator_settings import AllocatorSettings
from tensorscope.core.units import format_bytes, format_ns
from tensorscope.models.what_if_result import Note, WhatIf, WhatIfRow

VARIABLE = "PYTORCH_CUDA_ALLOC_CONF"


class FitTexts(QObject):
    """Sentences and labels."""

    def headers(self) -> list[str]:
        """Return the headers of the table."""
        return [
            self.tr("Setting"),
            self.tr("Peak reserved"),
            self.tr("Difference"),
            self.tr("Difference, %"),
            self.tr("Fits"),
            self.tr("Peak in use"),
            self.tr("Unused at the peak"),
            self.tr("Reserved at the end"),
            self.tr("Calls for memory"),
            self.tr("Retries"),
        ]

    def setting(self, row: WhatIfRow, found: WhatIf) -> str:
        """Return what a setting is called."""
        name = row.settings.environment or self.tr("PyTorch's defaults")
        if row.settings.empty_cache_each_step:
            name = self.tr("{setting} + empty_cache() after each step").format(setting=name)
        known = row.is_reference and found.source == "trace"
        return self.tr("{setting} (as recorded)").format(setting=name) if known else name

    def environment(self, settings: AllocatorSettings) -> str:
        """Return what to set before the program starts."""
        return f"{VARIABLE}={settings.environment}"

    def fits(self, row: WhatIfRow) -> str:
        """Return whether a setting fits the limit."""
        if row.fits is None:
            return ""
        return self.tr("yes") if row.fits else self.tr("no")

    def honesty(self, found: WhatIf) -> str:
        """Return how near the model is to what was recorded."""
        exactness = found.exactness
        values = {
            "most": format_bytes(exactness.reserved_difference_bytes),
            "end": format_bytes(exactness.end_difference_bytes),
            "same": f"{exactness.same_addresses:,}",
            "all": f"{exactness.allocations:,}",
        }
        if exactness.kind == "exact":
            text = self.tr(
                "Exact: replayed from the recorded state, the model reserves what the file says at every "
                "request; {same} of {all} blocks lie at the recorded address."
            )
        elif exactness.kind == "off":
            text = self.tr(
                "Off by up to {most}, {end} at the end: replayed from the recorded state, the model does not "
                "reserve what the file says; {same} of {all} blocks lie at the recorded address."
            )
        else:
            text = self.tr("Simulated: nothing recorded says what was reserved, so it cannot be compared.")
        return text.format(**values)

    def recorded(self, found: WhatIf) -> str:
        """Return what the recorded allocator reserved; empty where that is not known."""
        if found.recorded is None:
            return ""
        return self.tr("Recorded: at most {peak} reserved, {end} at the end.").format(
            peak=format_bytes(found.recorded.peak_reserved_bytes),
            end=format_bytes(found.recorded.end_reserved_bytes),
        )

    def notes(self, found: WhatIf) -> list[str]:
        """Return what else must be known; where requests come from, unless it is the allocator."""
        return [self.note(note) for note in found.notes if note.code != "source-trace"]

    def note(self, note: Note) -> str:
        """Return a note."""
        texts = {
            "no-history": self.tr("There is no history of requests, so there is nothing to replay."),
            "start-recorded": self.tr(
                "Settings start from what the allocator held when the recording began, as if changed at that "
                "moment."
            ),
            "start-empty": self.tr(
                "Settings start empty, the {blocks} blocks from before the recording first: what was left in "
                "the cache by then is not in it."
            ),
            "async": self.tr(
                "The program used cudaMallocAsync, whose rules are others than those of this model."
            ),
            "source-trace": self.tr("Requests are those of the CUDA allocator's own trace."),
            "source-cuda": self.tr(
                "Requests are CUDA blocks as large as the allocator rounded them: the program may have asked "
                "for a little less."
            ),
            "source-cpu": self.tr(
                "Simulated from CPU requests: what the same requests would need under the rules of the CUDA "
                "allocator. On a GPU a program makes other temporary blocks."
            ),
            "private-pools": self.tr(
                "Private pools ({pools}; CUDA graphs, MemPool) keep what they reserve to the end."
            ),
            "left-out": self.tr("{blocks} blocks of impossible sizes are left out."),
        }
        values = {name: f"{value:,}" for name, value in note.values.items()}
        return texts.get(note.code, note.text).format(**values)

    def outcome(self, row: WhatIfRow, found: WhatIf) -> str:
        """Return what became of one setting within the limit."""
        parts = []
        if row.settings.garbage_collection_threshold > 0:
            parts.append(
                self.tr(
                    "PyTorch collects garbage only after torch.cuda.set_per_process_memory_fraction(); here "
                    "that is the limit."
                )
            )
        failure = row.failure
        if failure is not None:
            text = self.tr(
                "Does not fit: request {number} at {time} wants {size}. {reserved} are reserved then, "
                "{active} of them in use; {free} are free for it, in pieces of at most {largest}."
            )
            parts.append(
                text.format(
                    number=f"{failure.request:,}",
                    time=format_ns(failure.t_ns),
                    size=format_bytes(failure.size_bytes),
                    reserved=format_bytes(failure.reserved_bytes),
                    active=format_bytes(failure.active_bytes),
                    free=format_bytes(failure.free_bytes),
                    largest=format_bytes(failure.largest_free_bytes),
                )
            )
        elif row.fits and row.retries:
            text = self.tr(
                "Fits, but the whole cache had to be given back {count}×, each time waiting for the device."
            )
            parts.append(text.format(count=f"{row.retries:,}"))
        elif row.fits:
            parts.append(self.tr("Fits."))
        least = self.tr("The program itself never held more than {size} at once.").format(
            size=format_bytes(found.peak_requested_bytes)
        )
        return " ".join([*parts, least])
