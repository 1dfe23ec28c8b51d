"""What each kind of frame holds. This page is the contract between agent, store and views.

Conventions
-----------
* ``*_ns`` are nanoseconds of the target's CLOCK_MONOTONIC (``time.perf_counter_ns()``), absolute.
* ``*_bytes`` are bytes, ``*_elems`` elements; ``u4`` columns marked *string* are string ids, and
  string 0 is always ``""``. The sender sends a ``strings`` frame before an id is first used.
* ``device`` is -1 for the CPU, otherwise the CUDA index.
* A *step* is one training iteration, numbered from 0 since the agent started.

Unknown kinds and columns are kept and ignored, never an error.

Streams (rows are appended to one table per kind): see `STREAM_COLUMNS`.

Records (kept whole, one per frame): see `RECORD_COLUMNS`; columns of one record may have
different lengths. Their meta:

``hello``      protocol, agent_version, pid, argv (list), script, python, torch, devices (list of
               {name, kind, total_bytes}), rank, world_size, host, origin_ns (clock at start),
               origin_unix_ns, level, recorder ("native" | "python" | "none"), recorder_note,
               capabilities (list of command names)
``strings``    first (id of the first), values (list of str)
``notice``     severity ("info" | "warning" | "error"), code, text
``heartbeat``  steps, outbox_bytes, dropped_frames, dropped_events, agent_cpu_ns
``toggle``     name, on, params, variant; sent when it took effect, step = first step it rules
``graph``      loss (float or null), root_names (list), compiled (bool), truncated (bool), backwards,
               timed (bool), clock ("host": on CUDA, node times are those of the launches); since 0.3
               gradients (bool: norms were measured), failed (str or null: what backward raised),
               calls (list of {roots, retain_graph, create_graph, accumulates, shared_nodes (of earlier
               backwards), t0_ns, t1_ns}), one a backward; first_seq (sequence number when the step began),
               module_hooks (on all modules)
``kept``       tensors whose grad_fn, or a node behind it, was made in an earlier step and that are still
               alive: count (in all), nodes (of earlier steps that were met), truncated (bool), took_ns
``tensors``    truncated (bool)
``ops``        complete (bool)
``baseline``   reason ("start" | "resync"): every block alive at clock_ns, per device; alloc events
               that follow build on it
``stacks``     first_frame, first_stack: ids of the first frame and stack in it; stack 0 is "unknown"
``segments``   reason ("end" | "oom" | "poll"), trace_rows: rows of ``trace`` before it
``source``     where a session that is no recording of ours comes from: format ("cuda-snapshot" |
               "kineto" | "memory-timeline"), path, devices (list of {index, total_bytes or -1}),
               settings (the allocator's, as written there), ordered ("time" | "event": whether times
               were recorded or are event numbers), notes (list of str, for people: what is missing),
               unknown (dict: keys and actions nobody knew, with counts)
``values``     id, ok, error, tensor, dtype (torch name), shape (list), axes ([row, col] or [col] or
               []), start ([r, c]), complete (bool); column ``data`` f8 of shape (rows, cols)
``reply``      id, ok, error (str or null), step (at which it took effect), result (any JSON)
``bye``        reason
``command``    (window to agent) id, name, args
"""

from __future__ import annotations

PHASES = ("other", "forward", "backward", "optimizer")
CATEGORIES = (
    "parameter", "gradient", "optimizer_state", "buffer", "input", "activation", "temporary", "unknown",
)  # fmt: skip
"""Memory categories in their fixed order; `category` columns hold the index. *activation*: made in
forward and alive when backward starts; *temporary*: everything else that died within its step."""
ROLES = ("parameter", "gradient", "optimizer_state", "buffer", "input", "activation", "saved", "named")
"""What a row of ``tensors`` is; `role` columns hold the index."""
BLOCK_STATES = ("inactive", "active_allocated", "active_pending_free")
NODE_KINDS = ("plain", "custom", "checkpoint", "compiled", "distributed", "accumulate")
"""What made an autograd node; `node_kind` columns hold the index. *custom*: an autograd.Function of the
program; *checkpoint*: it saved nothing but a promise to compute it again, or is reentrant."""
NONFINITE = ("", "nan", "inf")
"""`*_nonfinite` columns hold the index."""
LEVELS = ("pulse", "scope", "deep")
COMMANDS = ("level", "deep", "toggles", "toggle", "values", "holders", "detach")

STREAM_COLUMNS: dict[str, dict[str, str]] = {
    "step": {
        "step": "i4",
        "t0_ns": "i8",  # end of the step before
        "t1_ns": "i8",  # step boundary: the optimizer's post hook that closed it
        "forward_ns": "i8",  # wall time in each phase; other = t1 - t0 - the three
        "backward_ns": "i8",
        "optimizer_ns": "i8",
        "loss": "f8",  # NaN where no scalar root was seen
        "grad_norm": "f8",  # NaN unless asked for
        "backwards": "i4",  # calls of the autograd engine (accumulation: > 1)
        "optimizer_steps": "i4",
        "live_bytes": "i8",  # allocator bytes at t1, all devices; -1 where not recorded
        "peak_bytes": "i8",  # highest live_bytes within the step; -1 where not recorded
        "rss_bytes": "i8",  # process bytes at t1
        "eval_graphs": "i4",  # forwards of a root in eval mode that made a graph no backward used
        "agent_ns": "i8",  # what the agent itself cost the training thread in this step
        "level": "u1",  # index into LEVELS
        "variant": "u4",  # string: active toggles, "" for the plain program
    },
    "phase": {"step": "i4", "phase": "u1", "t0_ns": "i8", "t1_ns": "i8"},
    "module": {
        "step": "i4",
        "module": "u4",  # string: dotted path; "" is the root
        "call": "i4",  # how many times this module had been called in this step
        "depth": "i4",
        "t0_ns": "i8",
        "t1_ns": "i8",
    },
    "alloc": {
        "t_ns": "i8",
        "address": "u8",
        "delta_bytes": "i8",  # > 0 allocation, < 0 free
        "total_bytes": "i8",  # live total of this device after the event, baseline included
        "step": "i4",
        "phase": "u1",
        "category": "u1",  # of the block, the same at its allocation and its free
        "device": "i2",
        "module": "u4",  # string: innermost module running
        "stack": "u4",  # of the call that allocated; 0 unknown, frees have their own or 0
        "stream": "u2",  # 0 is the default stream; the others in order of appearance
        "pool": "u4",  # string: "" the default pool, else "(0, 1)"
    },
    "trace": {
        # CUDA's caching allocator, event by event as it keeps them; never on the CPU
        "t_ns": "i8",
        "action": "u4",  # string, as torch spells it: "alloc", "free_requested", "oom", ... or unknown
        "address": "u8",  # of an oom: bytes free on the device
        "size_bytes": "i8",  # as requested, not rounded
        "device": "i2",
        "stream": "u2",
        "pool": "u4",
        "stack": "u4",
        "note": "u4",  # string: metadata and compile context
        "alloc_row": "i8",  # rows of ``alloc`` before it; an "alloc" action is that very row
    },
    "annotation": {
        "t_ns": "i8",
        "stage": "u1",  # 0 begins, 1 ends
        "device": "i2",
        "name": "u4",  # string: what the program called the span
    },
    "device_memory": {
        # one row a phase boundary and device
        "t_ns": "i8",
        "step": "i4",
        "phase": "u1",  # the phase that ended
        "device": "i2",
        "allocated_bytes": "i8",
        "reserved_bytes": "i8",
        "active_bytes": "i8",
        "split_bytes": "i8",  # inactive, in segments that are partly used
        "retries": "i8",  # since the program began
        "ooms": "i8",
        "used_bytes": "i8",  # by everybody, as the driver says; -1 unknown
        "process_bytes": "i8",  # by this process, as NVML says; -1 unknown
    },
}

_ORIGIN = frozenset(("stack", "stream", "pool"))
_SEEN_IN_BACKWARD = frozenset((
    "node_begin_ns", "node_thread", "node_backward", "node_kind", "node_hooks", "node_grad_norm",
    "node_nonfinite", "edge_input", "edge_output", "edge_grad_norm", "edge_nonfinite", "saved_version",
    "write_storage", "write_seq", "write_op", "write_source",
    "output_module", "output_call", "output_norm", "output_nonfinite",
))  # fmt: skip
OPTIONAL_COLUMNS: dict[str, frozenset[str]] = {
    "alloc": _ORIGIN, "baseline": _ORIGIN, "graph": _SEEN_IN_BACKWARD,
    "step": frozenset(("eval_graphs",)), "tensors": frozenset(("trained",)),
}  # fmt: skip
"""Columns that may be left out: zeros then."""

RECORD_COLUMNS: dict[str, dict[str, str]] = {
    "baseline": {
        "address": "u8",
        "size_bytes": "i8",
        "category": "u1",
        "device": "i2",
        "name": "u4",  # string
        "stack": "u4",
        "stream": "u2",
        "pool": "u4",  # string
    },
    "stacks": {
        "file": "u4",  # string; one entry a new frame
        "line": "i4",
        "function": "u4",  # string
        "length": "u4",  # one entry a new stack: how many frames it has
        "frames": "u4",  # frame ids of the stacks one after the other, innermost first
    },
    "segments": {
        # what CUDA's caching allocator holds at a moment; blocks tile their segments
        "segment_address": "u8",
        "segment_bytes": "i8",
        "segment_device": "i2",
        "segment_stream": "u2",
        "segment_pool": "u4",  # string
        "segment_large": "u1",
        "segment_expandable": "u1",
        "segment_stack": "u4",
        "block_segment": "i4",
        "block_address": "u8",
        "block_bytes": "i8",  # rounded, as it lies there
        "block_requested_bytes": "i8",
        "block_state": "u1",  # index into BLOCK_STATES
        "block_stack": "u4",
    },
    "graph": {
        # one entry per grad_fn node, roots first
        "node_name": "u4",  # string: "AddmmBackward0"
        "node_seq": "i8",  # autograd sequence number; -1 for AccumulateGrad
        "node_module": "u4",  # string: module path that made it; "" outside any module
        "node_call": "i4",
        "node_param": "u4",  # string: parameter name for AccumulateGrad, else ""
        "node_shape": "u4",  # string: "[8, 128]" of the gradient it receives
        "node_dtype": "u4",  # string: "float32"
        "node_saved_bytes": "i8",  # storages first saved here: none twice, none of parameters, buffers
        "node_source": "u4",  # string: "train.py:41", "" if unknown
        "node_backward_ns": "i8",  # -1 if not timed
        "node_begin_ns": "i8",  # when backward last ran it; 0 if not timed
        "node_thread": "u2",  # of backward, numbered as they came
        "node_backward": "u2",  # the backward of this step in which it was first met
        "node_kind": "u1",
        "node_hooks": "u2",  # on a leaf's gradient; those on other nodes cannot be seen
        "node_grad_norm": "f8",  # Euclidean, of the gradient it received; NaN where not measured
        "node_nonfinite": "u1",
        "edge_from": "i4",  # consumer node (nearer the loss)
        "edge_to": "i4",  # next function
        "edge_input": "u2",  # which of the consumer's next functions
        "edge_output": "u2",  # which output of the next function's forward
        "edge_grad_norm": "f8",  # of what the consumer sent along it; NaN where not measured
        "edge_nonfinite": "u1",
        "saved_node": "i4",  # one entry per saved tensor
        "saved_name": "u4",  # string: "self", "weight"
        "saved_shape": "u4",  # string
        "saved_dtype": "u4",  # string
        "saved_bytes": "i8",  # of its whole storage
        "saved_storage": "u8",  # storage address
        "saved_version": "i4",  # version counter when backward began
        "write_storage": "u8",  # one entry per in-place write of the step, outside backward
        "write_seq": "i8",  # nodes below this sequence number were made before it
        "write_op": "u4",  # string: "aten.add_.Tensor"
        "write_source": "u4",  # string
        "output_module": "u4",  # string; one entry per forward of a module that was measured
        "output_call": "i4",
        "output_norm": "f8",
        "output_nonfinite": "u1",
    },
    "tensors": {
        "name": "u4",  # string: "blocks.0.attn.qkv.weight", "….grad", "optimizer.exp_avg[…]"
        "role": "u1",
        "dtype": "u4",  # string: "float32"
        "device": "i2",
        "itemsize_bytes": "u1",
        "ndim": "u1",
        "sizes_elems": "i8",  # all sizes one after the other, sum(ndim) entries
        "strides_elems": "i8",
        "offset_elems": "i8",
        "storage": "u8",  # storage address, 0 if it has none
        "storage_bytes": "i8",
        "requires_grad": "u1",
        "is_leaf": "u1",
        "grad_fn": "u4",  # string
        "version": "i4",
        "module": "u4",  # string
        "node": "i4",  # index into the same step's graph record, -1
        "trained": "u1",  # whether an optimizer that has stepped holds it
    },
    "kept": {
        "grad_fn": "u4",  # string
        "shape": "u4",  # string
        "nodes": "i4",  # of earlier steps behind it that nobody before in the list has shown
        "holder": "u4",  # string: "losses[3] (global of train.py)"
    },
    "ops": {
        "op": "u4",  # string: "aten.addmm.default"
        "t_ns": "i8",
        "phase": "u1",
        "module": "u4",  # string
        "source": "u4",  # string: "model.py:88"
        "out_bytes": "i8",
    },
    "values": {"data": "f8"},
}
