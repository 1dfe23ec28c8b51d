"""The report says what the columns say, in its documented schema."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tensorscope.core.schema import CATEGORIES
from tensorscope.core.wire import Frame
from tensorscope.models.report import SCHEMA, build_report, report_text
from tensorscope.models.report_html import report_html
from tensorscope.models.session_loading import load_session
from tensorscope.models.session_store import SessionStore
from tests.support.sample_file import sample_session_file
from tests.support.sample_frames import sample_frames

DOCUMENT = Path(__file__).parents[3] / "docs" / "report.md"


def store_of(frames: list[Frame]) -> SessionStore:
    store = SessionStore()
    for frame in frames:
        store.ingest(frame)
    return store


@pytest.fixture(scope="module")
def store() -> SessionStore:
    return store_of(sample_frames(steps=30))


@pytest.fixture(scope="module")
def report(store: SessionStore) -> dict:
    return build_report(store)


def test_that_every_documented_field_is_there_and_every_field_is_documented(report: dict) -> None:
    text = DOCUMENT.read_text()
    assert report["schema"] == SCHEMA
    assert SCHEMA in text
    for section in ("session", "target", "steps", "memory"):
        for name in report[section]:
            assert re.search(rf"`{section}\.{name}`|`\.{name}`", text), f"{section}.{name}"
    for section in ("graph", "tensors", "findings", "findings_need"):
        assert f"`{section}`" in text
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_that_the_peak_is_that_of_a_plain_replay(store: SessionStore, report: dict) -> None:
    alloc, live = store.tables["alloc"], np.zeros(len(CATEGORIES), np.int64)
    baseline = store.records("baseline")[0].columns
    np.add.at(live, baseline["category"], baseline["size_bytes"])
    best, best_live, best_step = int(live.sum()), live.copy(), None
    for row in range(len(alloc)):
        live[alloc["category"][row]] += alloc["delta_bytes"][row]
        if live.sum() > best:
            best, best_live, best_step = int(live.sum()), live.copy(), int(alloc["step"][row])
    memory = report["memory"]
    assert (memory["peak_bytes"], memory["peak_step"]) == (best, best_step)
    assert list(memory["by_category"].values()) == best_live.tolist()
    assert sum(memory["by_category"].values()) == memory["peak_bytes"]
    assert memory["end_bytes"] == int(live.sum()) == int(alloc["total_bytes"][-1])


def test_that_times_and_counts_are_those_of_the_columns(store: SessionStore, report: dict) -> None:
    steps = report["steps"]
    assert (steps["count"], steps["timed"], steps["median_ms"], steps["p95_ms"]) == (30, 30, 100.0, 100.0)
    assert steps["phase_split"] == {
        "forward": 0.3,
        "backward": 0.5,
        "optimizer": 0.1,
        "other": pytest.approx(0.1),
    }
    graph = store.records("graph")[0].columns
    assert report["graph"]["nodes"] == len(graph["node_name"])
    assert report["graph"]["edges"] == len(graph["edge_to"])
    assert report["graph"]["saved_bytes"] == graph["node_saved_bytes"].sum()
    assert report["tensors"]["count"] == len(store.records("tensors")[0].columns["name"])
    assert sum(report["tensors"]["by_role"].values()) == report["tensors"]["count"]


def test_that_a_deep_step_does_not_count_for_the_times() -> None:
    frames = sample_frames(steps=6)
    slow = next(frame for frame in frames if frame.kind == "step")
    level = slow.columns["level"]
    columns = {**slow.columns, "level": type(level)("u1", (1,), bytes([2]))}
    columns["t1_ns"] = type(level)("i8", (1,), (10**12).to_bytes(8, "little"))
    frames[frames.index(slow)] = Frame("step", slow.step, slow.clock_ns, 0, {}, columns)
    report = build_report(store_of(frames))
    assert (report["steps"]["count"], report["steps"]["timed"], report["steps"]["p95_ms"]) == (6, 5, 100.0)


def test_that_what_is_not_known_is_null() -> None:
    report = build_report(SessionStore())
    assert report["graph"] is None
    assert report["tensors"] is None
    assert report["memory"]["peak_bytes"] is None
    assert report["steps"]["median_ms"] is None
    assert report["findings_need"] == "recorder"
    assert "None" not in report_text(report)
    assert "none: allocations were not recorded" in report_text(report)
    assert "None" not in report_html(report, {}).replace("<p>None: allocations were not recorded", "")
    json.dumps(report, allow_nan=False)


def test_that_a_reopened_file_gives_the_same_report(tmp_path: Path, report: dict) -> None:
    assert build_report(load_session(sample_session_file(tmp_path, steps=30)).store) == report


def test_that_a_leak_is_in_the_report() -> None:
    report = build_report(store_of(sample_frames(steps=30, leak_bytes=5000)))
    assert [finding["code"] for finding in report["findings"]] == ["live-bytes-grow"]
    assert report["findings"][0]["evidence"]["bytes_per_step"] == 5000
    assert "Finding   Live bytes grow every step" in report_text(report)


def test_that_the_page_needs_nothing_else_and_believes_no_name(store: SessionStore) -> None:
    hostile = "<script>alert('x')</script>"
    other = store_of(sample_frames(steps=3))
    other.hello = {**other.hello, "script": hostile, "torch": hostile, "devices": [{"name": hostile}]}
    page = report_html(build_report(other), {"graph": b"\x89PNG", hostile: b"\x89PNG"})
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 3
    assert not re.search(r"(?:src|href)=[\"'](?!data:)", page)
    assert not re.search(r"https?://|url\(|@import", page)
    assert page.startswith("<!DOCTYPE html>")
