"""What went wrong with the caching allocator, and the bytes that prove it.

The rules can be computed from a trace and a final state alone. For a failed request of R bytes, at its event:
A bytes are handed out, P of them only wait for another stream; M are reserved; the device said that F were
free. What the device can give this process is then M + F, whatever others hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tensorscope.models.allocator_history import FOREVER, GIVES, ROUND_BYTES, TAKES, AllocatorHistory
from tensorscope.models.allocator_state import AllocatorState, Domain, allocator_state, domains
from tensorscope.models.frozen_store import StoreLike
from tensorscope.models.stack_labels import StackLabels

Longs = NDArray[np.int64]

CODES = (
    "capacity", "fragmentation", "wrong-domain", "pending-frees", "private-pool", "outside-pytorch",
    "oom-unexplained", "idle-cache", "retry-thrash", "cross-stream-hold",
)  # fmt: skip
SEVERITIES = ("info", "warning", "error")
HOLDERS = 6
_SMALL_BYTES, _LARGE_STEP, _BUFFER_BYTES, _LEAST_LARGE = 1 << 20, 2 << 20, 20 << 20, 10 << 20
"""Of c10/core/AllocatorConfig.h: up to `_SMALL_BYTES` from 2 MiB segments; up to `_LEAST_LARGE` from 20 MiB
ones; more in multiples of `_LARGE_STEP`."""
_IDLE_SHARE, _IDLE_BYTES = 0.5, 256 << 20
_THRASH_CYCLES = 8
_HOLD_SHARE = 0.01
_UNWOUND_SHARE = 0.5


@dataclass(frozen=True)
class Holder:
    """A line of code and what its blocks hold at the verdict's event."""

    line: str
    bytes: int
    blocks: int


@dataclass(frozen=True)
class Verdict:
    """One thing that is wrong, with its proof.

    Attributes
    ----------
    code
        One of `CODES`.
    event, t_ns
        Event of the trace at which it shows (-1: the state at the end), and when.
    evidence
        Numbers by name; names end in their unit.
    holders
        Who holds the bytes that matter, the most first.
    unwound
        The state that the file ends with is another: the program had let go of most by then.
    """

    code: str
    severity: str
    device: int
    event: int
    t_ns: int
    evidence: dict[str, int | float]
    holders: tuple[Holder, ...] = ()
    unwound: bool = False
    places: tuple[str, ...] = field(default=())
    """Streams or pools that hoard, or are held, where that is the point."""


def find_verdicts(store: StoreLike, history: AllocatorHistory | None = None) -> tuple[Verdict, ...]:
    """Return what is wrong, the worst first; any thread, on a frozen store.

    Nothing without a trace or a state of CUDA's caching allocator.
    """
    history = AllocatorHistory(store) if history is None else history
    if not history.events and history.final is None:
        return ()
    found = [*_failed_requests(history), *_thrash(history), *_holds(history), *_idle(history)]
    return tuple(sorted(found, key=lambda verdict: -SEVERITIES.index(verdict.severity)))


# -- failed requests ----------------------------------------------------------------------------


def _failed_requests(history: AllocatorHistory) -> list[Verdict]:
    events = np.flatnonzero(history.code["oom"])
    return [_autopsy(history, int(event)) for event in events.tolist()]


def rounded_request(size_bytes: int) -> int:
    """Return what the allocator asks the device for, where no free block serves."""
    size = max(ROUND_BYTES, -(-size_bytes // ROUND_BYTES) * ROUND_BYTES)
    if size <= _SMALL_BYTES:
        return 2 * _SMALL_BYTES
    return _BUFFER_BYTES if size < _LEAST_LARGE else -(-size // _LARGE_STEP) * _LARGE_STEP


def _autopsy(history: AllocatorHistory, event: int) -> Verdict:
    """Replay to the event, and say why no memory was there."""
    trace, store = history.store.tables["trace"], history.store
    device, stream = int(trace["device"][event]), int(trace["stream"][event])
    wanted, device_free = int(trace["size_bytes"][event]), int(trace["address"][event])
    rounded = max(ROUND_BYTES, -(-wanted // ROUND_BYTES) * ROUND_BYTES)
    state = allocator_state(history, event, device)
    pool = store.string(int(trace["pool"][event]))
    large = rounded > _SMALL_BYTES
    parts = domains(history, state)
    own = [p for p in parts if (p.stream, p.pool, p.large) == (stream, pool, large)]
    other = [p for p in parts if (p.stream, p.pool, p.large) != (stream, pool, large)]
    mine = max((p.largest_free_bytes for p in own), default=0)
    theirs = max((p.largest_free_bytes for p in other), default=0)
    private = sum(p.reserved_bytes for p in parts if p.pool)
    evidence: dict[str, int | float] = {
        "requested_bytes": wanted, "rounded_bytes": rounded,
        "new_segment_bytes": rounded_request(wanted), "device_free_bytes": device_free,
        "reserved_bytes": state.reserved_bytes, "used_bytes": state.used_bytes,
        "pending_bytes": state.pending_bytes, "idle_bytes": state.idle_bytes,
        "largest_free_own_bytes": mine, "largest_free_elsewhere_bytes": theirs,
        "private_pool_bytes": private, "rounding_bytes": state.rounding_bytes,
    }  # fmt: skip
    total = _device_total(store, device)
    if total > 0:
        evidence["outside_bytes"] = max(0, total - device_free - state.reserved_bytes)
    code, places = _cause(state, evidence, own, other, rounded, total)
    last = allocator_state(history, history.events - 1, device)
    return Verdict(
        code, "error", device, event, int(history.t_ns[event]), evidence, _holders(history, state, code),
        last.used_bytes < _UNWOUND_SHARE * state.used_bytes, places,
    )  # fmt: skip


def _cause(
    state: AllocatorState, evidence: dict[str, int | float], own: list[Domain], other: list[Domain],
    rounded: int, total: int,
) -> tuple[str, tuple[str, ...]]:  # fmt: skip
    room = state.reserved_bytes + int(evidence["device_free_bytes"])
    free_own = sum(part.free_bytes for part in own)
    missing = rounded - int(evidence["device_free_bytes"])
    lasting = state.used_bytes - state.pending_bytes
    outside = int(evidence.get("outside_bytes", 0))
    if lasting + rounded > room:
        fits_alone = total > 0 and lasting + rounded <= total and outside > lasting
        return ("outside-pytorch" if fits_alone else "capacity"), ()
    if int(evidence["private_pool_bytes"]) >= missing and any(p.pool and p.free_bytes for p in other):
        hoards = [p.pool for p in other if p.pool and p.free_bytes >= min(missing, rounded) // 2]
        if hoards:
            return "private-pool", tuple(dict.fromkeys(hoards))
    if int(evidence["largest_free_elsewhere_bytes"]) >= rounded > int(evidence["largest_free_own_bytes"]):
        places = [
            f"stream {p.stream}" if not p.pool else p.pool for p in other if p.largest_free_bytes >= rounded
        ]
        return "wrong-domain", tuple(dict.fromkeys(places))
    if state.pending_bytes >= missing > 0 and state.pending_bytes > free_own // 2:
        return "pending-frees", ()
    if free_own >= rounded > int(evidence["largest_free_own_bytes"]) or state.idle_bytes >= missing > 0:
        return "fragmentation", ()
    return "oom-unexplained", ()


def _device_total(store: StoreLike, device: int) -> int:
    for record in store.records("source"):
        for one in record.meta.get("devices", ()):
            if isinstance(one, dict) and one.get("index") == device:
                return int(one.get("total_bytes", -1))
    hello = store.records("hello")
    if hello:
        cuda = [d for d in hello[-1].meta.get("devices", ()) if d.get("kind") == "cuda"]
        if device < len(cuda):
            return int(cuda[device].get("total_bytes") or -1)
    return -1


def _holders(history: AllocatorHistory, state: AllocatorState, code: str) -> tuple[Holder, ...]:
    """Return the lines whose blocks hold most; for fragmentation, those in segments they nearly empty."""
    chosen = np.ones(len(state.blocks), bool)
    if code == "fragmentation":
        whole = history.segments.bytes[state.segments]
        pinned = state.segment_used_bytes < 0.5 * whole
        chosen = (state.block_segment >= 0) & pinned[np.maximum(state.block_segment, 0)]
    elif code == "pending-frees":
        chosen = state.pending
    return lines_of(history, state.blocks[chosen])


def lines_of(history: AllocatorHistory, blocks: Longs) -> tuple[Holder, ...]:
    """Return the lines of code that allocated `blocks`, those with the most bytes first."""
    names, b = StackLabels(history.store), history.blocks
    stacks, group = np.unique(b.stack[blocks], return_inverse=True)
    held = np.bincount(group, weights=b.bytes[blocks], minlength=len(stacks))
    count = np.bincount(group, minlength=len(stacks))
    by_line: dict[str, list[int]] = {}
    for index, stack in enumerate(stacks.tolist()):
        row = by_line.setdefault(names.label(stack), [0, 0])
        row[0], row[1] = row[0] + int(held[index]), row[1] + int(count[index])
    ranked = sorted(by_line.items(), key=lambda item: -item[1][0])[:HOLDERS]
    return tuple(Holder(line, size, many) for line, (size, many) in ranked)


# -- over the whole trace -----------------------------------------------------------------------


def _thrash(history: AllocatorHistory) -> list[Verdict]:
    """Segments that are given back to the device and taken again, over and over."""
    trace = history.store.tables["trace"]
    taken = np.zeros(history.events, bool)
    given = np.zeros(history.events, bool)
    for name in TAKES:
        taken |= history.code[name]
    for name in GIVES:
        given |= history.code[name]
    found = []
    for device in np.unique(trace["device"]).tolist():
        mine = trace["device"] == device
        rows = np.flatnonzero((taken | given) & mine)
        back = taken[rows][1:] & given[rows][:-1]
        cycles = int(back.sum())
        if cycles < _THRASH_CYCLES:
            continue
        times = history.t_ns[rows]
        size = trace["size_bytes"][rows]
        runs = _run_ns(times, given[rows], taken[rows])
        evidence: dict[str, int | float] = {
            "cycles": cycles, "given_back_bytes": int(size[given[rows]].sum()),
            "taken_again_bytes": int(size[taken[rows]][1:].sum()), "lost_ns": runs,
        }  # fmt: skip
        last = int(rows[1:][back][-1])
        stacks = trace["stack"][rows[1:][back]]
        places = [StackLabels(history.store).label(int(s)) for s in np.unique(stacks)[:HOLDERS].tolist()]
        found.append(
            Verdict("retry-thrash", "warning", device, last, int(history.t_ns[last]), evidence,
                    places=tuple(filter(None, places)))
        )  # fmt: skip
    return found


def _run_ns(times: Longs, given: NDArray[np.bool_], taken: NDArray[np.bool_]) -> int:
    """Return the time from the first give-back of each run to the taking that ends it."""
    total, begin = 0, -1
    for at, gives, takes in zip(times.tolist(), given.tolist(), taken.tolist(), strict=True):
        if gives and begin < 0:
            begin = at
        elif takes and begin >= 0:
            total, begin = total + at - begin, -1
    return total


def _holds(history: AllocatorHistory) -> list[Verdict]:
    """Blocks that the program has freed, but that wait for another stream."""
    b, times = history.blocks, history.t_ns
    waits = np.flatnonzero((b.requested < b.end) & (b.requested >= 0) & (b.end > b.requested + 1))
    if not len(waits) or not len(times):
        return []
    until = np.where(
        b.end[waits] == FOREVER, history.events - 1, np.minimum(b.end[waits], history.events - 1)
    )
    span = times[until] - times[b.requested[waits]]
    found = []
    for device in np.unique(b.device[waits]).tolist():
        mine = np.flatnonzero(b.device[waits] == device)
        level = np.zeros(history.events + 1, np.int64)
        np.add.at(level, b.requested[waits[mine]], b.bytes[waits[mine]])
        np.subtract.at(level, until[mine] + (b.end[waits[mine]] == FOREVER), b.bytes[waits[mine]])
        held = np.cumsum(level)
        event = int(np.argmax(held))
        reserved = max(1, allocator_state(history, event, device).reserved_bytes)
        if held[event] < _HOLD_SHARE * reserved:
            continue
        streams = np.unique(b.stream[waits[mine]]).tolist()
        evidence: dict[str, int | float] = {
            "peak_held_bytes": int(held[event]), "blocks": len(mine),
            "held_byte_ms": float((b.bytes[waits[mine]] * span[mine]).sum() / 1e6),
            "longest_ns": int(span[mine].max()), "median_ns": int(np.median(span[mine])),
        }  # fmt: skip
        found.append(
            Verdict("cross-stream-hold", "warning", device, event, int(times[event]), evidence,
                    lines_of(history, waits[mine]), places=tuple(f"stream {stream}" for stream in streams))
        )  # fmt: skip
    return found


def _idle(history: AllocatorHistory) -> list[Verdict]:
    """Much is reserved at the end that nothing uses."""
    found = []
    for device in np.unique(history.segments.device).tolist():
        state = allocator_state(history, history.events - 1, device)
        if state.idle_bytes < max(_IDLE_BYTES, _IDLE_SHARE * state.reserved_bytes):
            continue
        evidence: dict[str, int | float] = {
            "reserved_bytes": state.reserved_bytes, "used_bytes": state.used_bytes,
            "idle_bytes": state.idle_bytes, "releasable_bytes": state.releasable_bytes,
            "largest_free_bytes": state.largest_free_bytes, "pinned_bytes": state.pinned_bytes,
        }  # fmt: skip
        event = history.events - 1
        t_ns = int(history.t_ns[event]) if history.events else 0
        found.append(Verdict("idle-cache", "info", device, event, t_ns, evidence))
    return found
