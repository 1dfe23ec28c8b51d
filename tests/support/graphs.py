"""Graph records for tests: stored ones of real models where at hand, and made up ones of any size."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from tensorscope.core.wire import Frame
from tests.support.sample_frames import column

_NEAR = [folder / "shared/data/graphs" for folder in Path(__file__).parents]
GRAPHS = Path(os.environ.get("TENSORSCOPE_TEST_GRAPHS") or next((p for p in _NEAR if p.is_dir()), "graphs"))
"""Stored graphs of real models: from the environment, else from a folder near the checkout."""


def graph_frames(nodes, edges, saved=()):
    """Return strings and one graph record.

    `nodes` are (name, seq, module, call, param, shape, saved_bytes); `edges` (from, to); `saved`
    (node, name, bytes, storage).
    """
    strings = {"": 0}

    def ids(texts):
        return column("u4", [strings.setdefault(text, len(strings)) for text in texts])

    columns = {
        "node_name": ids(n[0] for n in nodes), "node_seq": column("i8", [n[1] for n in nodes]),
        "node_module": ids(n[2] for n in nodes), "node_call": column("i4", [n[3] for n in nodes]),
        "node_param": ids(n[4] for n in nodes), "node_shape": ids(n[5] for n in nodes),
        "node_dtype": ids("float32" for _ in nodes),
        "node_saved_bytes": column("i8", [n[6] for n in nodes]), "node_source": ids("" for _ in nodes),
        "node_backward_ns": column("i8", [-1 for _ in nodes]),
        "edge_from": column("i4", [e[0] for e in edges]), "edge_to": column("i4", [e[1] for e in edges]),
        "saved_node": column("i4", [s[0] for s in saved]), "saved_name": ids(s[1] for s in saved),
        "saved_shape": ids("" for _ in saved), "saved_dtype": ids("float32" for _ in saved),
        "saved_bytes": column("i8", [s[2] for s in saved]),
        "saved_storage": column("u8", [s[3] for s in saved]),
    }  # fmt: skip
    meta = {"loss": 1.0, "root_names": [], "compiled": False, "truncated": False}
    words = Frame("strings", meta={"first": 1, "values": list(strings)[1:]})
    return [words, Frame("graph", 0, meta=meta, columns=columns)]


def stored_graph(name):
    """Return the frames of a stored graph; the test is skipped where there is none."""
    path = GRAPHS / f"{name}.json.gz"
    if not path.exists():
        pytest.skip(f"no {name}.json.gz: set TENSORSCOPE_TEST_GRAPHS to the folder of stored graphs")
    with gzip.open(path) as file:
        graph = json.load(file)
    nodes = []
    for name_id, label, _, _, module, saved_bytes, call in graph["nodes"]:
        leaf = graph["names"][name_id].endswith("AccumulateGrad")
        lines = graph["labels"][label].split("\n")
        param = lines[0] if leaf else ""
        shape = "[" + lines[1].replace("x", ", ") + "]"
        nodes.append((graph["names"][name_id], -1, graph["modules"][module], call, param, shape, saved_bytes))
    return graph_frames(nodes, graph["edges"])


def synthetic_graph(count, modules=True):
    """Return a chain of `count` nodes with a parameter at every tenth and a skip over every hundredth."""
    nodes, edges, last = [], [], -1
    for i in range(count):
        path = f"stage.{i // 5000}.block.{i // 100}" if modules else ""
        nodes.append(("MulBackward0", count - i, path, 0, "", "[4, 4]", 64))
        if i:
            edges.append((last, len(nodes) - 1))
        if i >= 50 and i % 100 == 50:
            edges.append((max(0, last - 40), len(nodes) - 1))
        last = len(nodes) - 1
        if i % 10 == 9:
            nodes.append(("AccumulateGrad", -1, "", 0, f"{path}.weight.{i}", "[4, 4]", 0))
            edges.append((last, len(nodes) - 1))
    return graph_frames(nodes, edges)
