from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tensorscope.models.block_lifetime import followed, lifetime_of_address, lifetime_of_row
from tests.support.alloc_stream import AllocStream
from tests.support.sessions import sample_session


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.integers(0, 25), min_size=1, max_size=4))
def test_that_both_ends_of_every_block_are_those_of_the_stream(seed, lengths):
    stream = AllocStream(seed)
    for length in lengths:
        stream.resync()
        stream.events(length)
    for block in stream.blocks:
        for row in (block.begin, block.end):
            if row is None:
                continue
            found = lifetime_of_row(stream.store, row)
            assert (found.address, found.size_bytes) == (block.address, block.size)
            assert (found.begin and found.begin.row) == block.begin
            if block.end is not None:
                assert found.end.row == block.end
            else:
                assert found.end is None
                assert (found.lost_t_ns >= 0) == (block not in stream.live)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.integers(0, 25), min_size=1, max_size=3), st.integers(0, 200))
def test_that_an_address_names_the_block_that_was_alive_then(seed, lengths, t_ns):
    stream = AllocStream(seed)
    for length in lengths:
        stream.resync()
        stream.events(length)
    times = stream.store.tables["alloc"]["t_ns"] - stream.store.origin_ns
    rows = int((times <= t_ns).sum())
    for block in stream.blocks:
        if block.begin is None or block.begin >= rows or (block.end is not None and block.end < rows):
            continue
        found = lifetime_of_address(stream.store, block.address, t_ns)
        if block not in stream.live and block.end is None:
            continue  # went away unseen in a gap: a younger block may have its address
        assert (found.size_bytes, found.begin.row) == (block.size, block.begin)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.integers(1, 25), min_size=2, max_size=4))
def test_that_following_a_block_finds_what_a_new_search_finds(seed, lengths):
    stream = AllocStream(seed)
    stream.resync()
    stream.events(lengths[0])
    before = [lifetime_of_row(stream.store, b.begin) for b in stream.blocks if b.begin is not None]
    for length in lengths[1:]:
        stream.resync()
        stream.events(length)
    for block in before:
        found, again = followed(stream.store, block), lifetime_of_row(stream.store, block.begin.row)
        assert replace(found, known_rows=0) == replace(again, known_rows=0)


def test_that_a_block_of_the_baseline_has_its_name_and_no_beginning():
    store = sample_session().store
    address = int(store.records("baseline")[0].columns["address"][2])
    block = lifetime_of_address(store, address, 10**9)
    assert (block.name, block.begin, block.end) == ("blocks.0.norm.weight", None, None)


def test_that_an_address_nobody_used_is_no_block():
    assert lifetime_of_address(sample_session().store, 12345, 10**9) is None
