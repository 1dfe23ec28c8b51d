"""Blocks from begin to end, with baselines and gaps, against a list of what was alive."""

import pytest

from tensorscope.models.allocations import UNSEEN, AllocationIndex, find_allocations
from tests.support.alloc_stream import AllocStream


@pytest.mark.parametrize("seed", range(30))
def test_that_the_blocks_alive_after_any_row_are_those_that_were(seed):
    stream = AllocStream(seed)
    alive = {}
    stream.resync()
    for round_number in range(120):
        stream.events(1)
        if round_number in (40, 80):
            stream.resync()
        alive[stream.row - 1] = sorted((b.address, b.size, b.category) for b in stream.live)
    blocks = find_allocations(stream.store)
    for row, expected in alive.items():
        at = blocks.alive_before(row + 1)
        found = zip(blocks.address[at], blocks.size_bytes[at], blocks.category[at], strict=True)
        assert sorted((int(a), int(s), int(c)) for a, s, c in found) == expected


def test_that_every_row_belongs_to_the_block_it_allocates_or_frees():
    stream = AllocStream(3)
    stream.resync()
    stream.events(200)
    blocks, table = find_allocations(stream.store), stream.store.tables["alloc"]
    assert (blocks.address[blocks.owner] == table["address"]).all()
    assert (blocks.size_bytes[blocks.owner] == abs(table["delta_bytes"])).all()
    rows = blocks.begin_row != UNSEEN
    assert (blocks.owner[blocks.begin_row[rows]] == rows.nonzero()[0]).all()


def test_that_the_index_pairs_again_only_when_something_came():
    stream = AllocStream(5)
    stream.resync()
    stream.events(20)
    index = AllocationIndex(stream.store)
    first = index.get()
    assert index.get() is first
    stream.events(1)
    assert len(index.get().owner) == 21
