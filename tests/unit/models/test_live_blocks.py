import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorscope.models import live_blocks
from tensorscope.models.live_blocks import LiveBlocks
from tests.support.alloc_stream import AllocStream, large_store


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(live_blocks, "CHUNK_ROWS", 5)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.integers(0, 30), min_size=1, max_size=4), st.integers(0, 130))
def test_that_the_blocks_alive_at_a_row_are_those_of_the_stream(seed, lengths, at):
    stream = AllocStream(seed)
    bounds = []
    for length in lengths:
        stream.resync()
        bounds.append(stream.row)
        stream.events(length)
    blocks = LiveBlocks(stream.store)
    for rows in range(0, stream.row + 1, 3):
        blocks.update(rows)
    blocks.update(stream.row)
    row = min(at, stream.row)
    found, count = blocks.largest(row)
    start = max(bound for bound in bounds if bound <= row)
    truth = {}
    record = next(r for r in reversed(stream.store.records("baseline")) if r.rows["alloc"] == start)
    for address, size in zip(record.columns["address"], record.columns["size_bytes"], strict=True):
        truth[int(address)] = int(size)
    table = stream.store.tables["alloc"]
    for i in range(start, row):
        if table["delta_bytes"][i] >= 0:
            truth[int(table["address"][i])] = int(table["delta_bytes"][i])
        else:
            del truth[int(table["address"][i])]
    assert {block.address: block.size_bytes for block in found} == truth
    assert count == len(truth)
    assert [b.size_bytes for b in found] == sorted(truth.values(), reverse=True)


def test_that_checkpoints_stay_few_when_nothing_is_ever_freed():
    store = large_store(3000)
    table = store.tables["alloc"]
    np.copyto(table["delta_bytes"], np.abs(table["delta_bytes"]))
    np.copyto(table["address"], np.arange(3000, dtype=np.uint64) * 64 + (1 << 41))
    blocks = LiveBlocks(store)
    blocks.update(3000)
    held = sum(len(state.ids) for state in blocks._states)
    assert held < 2 * 3000
