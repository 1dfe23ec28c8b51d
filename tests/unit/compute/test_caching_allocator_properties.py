"""Random programs: the model keeps its books, and decides as slow allocators do that look at everything."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorscope.compute.allocator_settings import MIB, AllocatorSettings, uniform_divisions
from tensorscope.compute.caching_allocator import CachingAllocator
from tests.support.naive_allocator import NaiveAllocator, NaiveExpandable, rounded

SIZES = st.one_of(
    st.integers(1, 5000), st.integers(1, 2 * MIB), st.integers(MIB, 12 * MIB), st.integers(1, 90 * MIB),
    st.sampled_from([512, MIB, MIB + 1, 10 * MIB, 20 * MIB, 64 * MIB]),
)  # fmt: skip
PLACES = st.sampled_from([("", 0), ("", 0), ("", 1), ("(0, 1)", 0)])
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("malloc"), SIZES, PLACES),
        st.tuples(st.just("free"), st.integers(0, 1 << 20)),
        st.tuples(st.just("free"), st.integers(0, 1 << 20)),
        st.tuples(st.just("hold"), st.integers(0, 1 << 20)),
        st.tuples(st.just("empty")),
    ),
    max_size=60,
)
SETTINGS = st.builds(
    AllocatorSettings,
    expandable_segments=st.booleans(),
    max_split_bytes=st.sampled_from([1 << 62, 1 << 62, 30 * MIB]),
    roundup_power2_divisions=st.sampled_from([0, 0, 4, 8]).map(uniform_divisions),
    garbage_collection_threshold=st.sampled_from([0.0, 0.5]),
)


def fit_of(model, size):
    return int(model.settings.round_sizes(np.array([size]))[0])


def play(model, acts, check):
    """Drive the model; `check` after each act with (model, blocks handed out, act, block of the act)."""
    live, held = {}, set()
    for number, act in enumerate(acts):
        found = None
        if act[0] == "malloc":
            found = model.malloc(number, act[1], fit_of(model, act[1]), model.place(*act[2]))
            if found is not None:
                live[number] = found
        elif act[0] == "empty":
            model.empty_cache()
        elif live:
            number = list(live)[act[1] % len(live)]
            found = live[number]
            if act[0] == "hold" and number not in held:
                model.hold(found)
                held.add(number)
            elif found.owner == number:
                model.free(found)
        live = {owner: block for owner, block in live.items() if block.owner == owner}
        check(model, live, act, found)


def chains(model, live):
    """Return every segment as its list of blocks, found from the blocks in use and the free lists."""
    known = set(live.values())
    for place in model.places.values():
        for domain in (place.small, place.large):
            known |= {*domain.blocks, *domain.unmapped}
    heads = [block for block in known if block.before is None]
    found = []
    for head in heads:
        chain = [head]
        while chain[-1].after is not None:
            chain.append(chain[-1].after)
        found.append(chain)
    assert {block for chain in found for block in chain} == known
    return found


def check_books(model, live, _act, _found):
    for number, block in live.items():
        assert block.owner == number
        assert block.size >= block.requested
    spans = []
    reserved = 0
    for chain in chains(model, live):
        for block, after in pairwise(chain):
            assert after.before is block
            assert block.address + block.size == after.address  # they tile the segment
            free = block.is_free and after.is_free
            assert not free  # free neighbours are always one
            assert block.is_mapped or after.is_mapped
        reserved += sum(block.size for block in chain if block.is_mapped)
        spans.append((chain[0].address, chain[-1].address + chain[-1].size))
        for block in chain:
            assert block.size > 0
            assert (block.owner >= 0) + block.is_free + (not block.is_mapped) == 1
    spans.sort()
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
    assert model.reserved_bytes == reserved
    assert model.active_bytes == sum(block.size for block in live.values())
    assert model.reserved_bytes <= model.limit_bytes
    for place in model.places.values():
        for domain in (place.small, place.large):
            order = [(block.size, block.address) for block in domain.blocks]
            assert order == sorted(order)


@settings(max_examples=200, deadline=None)
@given(ACTS, SETTINGS, st.sampled_from([None, 60 * MIB, 200 * MIB]))
def test_that_bytes_are_conserved_and_no_block_is_handed_out_twice(acts, setting, limit):
    play(CachingAllocator(setting, limit), acts, check_books)


@settings(max_examples=100, deadline=None)
@given(ACTS, SETTINGS)
def test_that_after_all_is_freed_an_empty_cache_reserves_nothing_but_private_pools(acts, setting):
    model, last = CachingAllocator(setting), {}
    play(model, acts, lambda _model, live, _act, _found: last.update(live=dict(live)))
    for block in last.get("live", {}).values():
        model.free(block)
    model.empty_cache()
    kept = sum(
        block.size for (pool, _), place in model.places.items() if pool
        for domain in (place.small, place.large) for block in domain.blocks
    )  # fmt: skip
    assert (model.active_bytes, model.reserved_bytes) == (0, kept)


def same_decisions(model, naive):
    """Return a check that replays each act in `naive` and compares address and reserved bytes."""
    alive = {}

    def check(model, live, act, found):
        if act[0] == "malloc":
            number = next(owner for owner in live if owner not in alive)
            alive[number] = True
            assert naive.malloc(number, act[1], *act[2]) == found.address
        for number in [owner for owner in alive if owner not in live]:
            naive.free(number)
            del alive[number]
        if act[0] == "empty":
            naive.empty_cache()
        assert naive.reserved == model.reserved_bytes

    return check


NO_HOLDS = ACTS.map(lambda acts: [act for act in acts if act[0] != "hold"])


@settings(max_examples=200, deadline=None)
@given(NO_HOLDS, st.sampled_from([None, 24 * MIB, 50 * MIB]), st.sampled_from([0, 4, 8]))
def test_that_fixed_segments_are_used_as_a_search_of_everything_would(acts, max_split, divisions):
    setting = AllocatorSettings(
        max_split_bytes=max_split or 1 << 62, roundup_power2_divisions=uniform_divisions(divisions)
    )
    model = CachingAllocator(setting)
    play(model, acts, same_decisions(model, NaiveAllocator(max_split, divisions)))


@settings(max_examples=200, deadline=None)
@given(NO_HOLDS)
def test_that_pages_are_mapped_where_a_search_of_all_addresses_would_map_them(acts):
    model = CachingAllocator(AllocatorSettings(expandable_segments=True))
    play(model, acts, same_decisions(model, NaiveExpandable()))


@given(st.integers(1, 1 << 40), st.sampled_from([0, 2, 3, 4, 8, 16]))
def test_that_rounding_is_that_of_counting_up(size, divisions):
    if divisions == 3:
        divisions = 2
    setting = AllocatorSettings(roundup_power2_divisions=uniform_divisions(divisions))
    assert setting.round_sizes(np.array([size])).tolist() == [rounded(size, divisions)]


@pytest.mark.parametrize("divisions", [0, 4])
def test_that_nothing_is_rounded_down(divisions):
    setting = AllocatorSettings(roundup_power2_divisions=uniform_divisions(divisions))
    sizes = np.random.default_rng(1).integers(1, 1 << 36, 10_000)
    fits = setting.round_sizes(sizes)
    assert (fits >= sizes).all()
    assert (fits % 512 == 0).all()
