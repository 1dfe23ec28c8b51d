"""What a person must know about a comparison of allocator settings."""

from __future__ import annotations

from tensorscope.models.what_if_result import Note

NO_HISTORY = Note("no-history", "There is no history of requests, so there is nothing to replay.")
START_RECORDED = Note(
    "start-recorded",
    "Each setting starts from what the allocator held when the recording began, as if it had been "
    "changed at that moment.",
)
OTHER_ALLOCATOR = Note(
    "async", "The program used cudaMallocAsync, whose rules are others than those of this model."
)
SOURCES = {
    "trace": Note("source-trace", "Requests are those of the CUDA allocator's own trace."),
    "cuda": Note(
        "source-cuda",
        "Requests are CUDA blocks as large as the allocator rounded them: the program may have asked for "
        "a little less.",
    ),
    "cpu": Note(
        "source-cpu",
        "Simulated from CPU requests: what the same requests would need under the rules of the CUDA "
        "allocator. On a GPU a program makes other temporary blocks.",
    ),
}


def start_empty(blocks: int) -> Note:
    """Say that blocks from before the recording are made first."""
    text = (
        f"Each setting starts with an empty allocator, in which the {blocks:,} blocks from before the "
        "recording are made first: what the program had left in the cache by then is not in it."
    )
    return Note("start-empty", text, {"blocks": blocks})


def private_pools(pools: int) -> Note:
    """Say that such pools are not given back."""
    text = f"{pools:,} private pools (CUDA graphs, MemPool) keep what they reserve to the end."
    return Note("private-pools", text, {"pools": pools})


def left_out(blocks: int) -> Note:
    """Say that blocks cannot be."""
    return Note("left-out", f"{blocks:,} blocks of impossible sizes are left out.", {"blocks": blocks})
