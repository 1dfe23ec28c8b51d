"""Pairing of allocations and frees, against a dictionary of live blocks."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tensorscope.compute.lifetimes import ALLOCATED, FREED, LISTED, NONE, pair_lifetimes

ITEM = st.tuples(
    st.integers(1, 5), st.sampled_from([64, 512]), st.sampled_from([-1, 0]),
    st.sampled_from([FREED, ALLOCATED, ALLOCATED, LISTED]),
)  # fmt: skip


def brute_force(items):
    begin, end, owner, alive = [], [], [], {}
    for index, (address, size, device, kind) in enumerate(items):
        key = address, device
        known = alive.get(key)
        if kind == LISTED and known is not None and items[begin[known]][1] == size:
            owner.append(known)
            continue
        if kind == FREED and known is not None:
            end[known] = index
            owner.append(known)
            del alive[key]
            continue
        if known is not None:
            end[known] = index
        begin.append(index)
        end.append(index if kind == FREED else NONE)
        owner.append(len(begin) - 1)
        if kind != FREED:
            alive[key] = len(begin) - 1
    return begin, end, owner


def columns(items):
    address, size, device, kind = zip(*items, strict=True) if items else ((), (), (), ())
    return (
        np.array(address, np.uint64), np.array(size, np.int64), np.array(device, np.int16),
        np.array(kind, np.uint8),
    )  # fmt: skip


@given(st.lists(ITEM, max_size=60))
def test_that_pairs_are_those_of_a_dictionary_of_live_blocks(items):
    pairs = pair_lifetimes(*columns(items))
    begin, end, owner = brute_force(items)
    assert pairs.begin.tolist() == begin
    assert pairs.end.tolist() == end
    assert pairs.owner.tolist() == owner


@given(st.lists(ITEM, max_size=60), st.data())
def test_that_lifetimes_wholly_inside_survive_truncation_at_both_ends(items, data):
    first = data.draw(st.integers(0, len(items)))
    last = data.draw(st.integers(first, len(items)))
    items = [item for item in items if item[3] != LISTED]
    whole, part = pair_lifetimes(*columns(items)), pair_lifetimes(*columns(items[first:last]))
    seen = {(b + first, e + first) for b, e in zip(part.begin.tolist(), part.end.tolist(), strict=True)}
    for b, e in zip(whole.begin.tolist(), whole.end.tolist(), strict=True):
        if first <= b <= e < last:
            assert (b, e) in seen
