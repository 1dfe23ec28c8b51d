"""The model of CUDA's caching allocator against rules worked out by hand."""

import numpy as np
import pytest

from tensorscope.compute.allocator_settings import (
    KIB,
    MIB,
    AllocatorSettings,
    recorded_settings,
    uniform_divisions,
)
from tensorscope.compute.caching_allocator import CachingAllocator


class Driven:
    """An allocator with short words for what a program does."""

    def __init__(self, limit=None, **settings):
        self.settings = AllocatorSettings(**settings)
        self.model = CachingAllocator(self.settings, limit)
        self.count = 0

    def malloc(self, size, pool="", stream=0):
        fit = int(self.settings.round_sizes(np.array([size]))[0])
        self.count += 1
        return self.model.malloc(self.count, size, fit, self.model.place(pool, stream))


@pytest.mark.parametrize(
    ("size", "expected"), [(1, 512), (512, 512), (513, 1024), (MIB, MIB), (3 * MIB + 1, 3 * MIB + 512)]
)
def test_that_requests_are_rounded_to_512_bytes(size, expected):
    assert AllocatorSettings().round_sizes(np.array([size])).tolist() == [expected]


@pytest.mark.parametrize(
    ("size", "divisions", "expected"),
    [
        (1200 * KIB, 4, 1280 * KIB),  # 1024, 1280, 1536, 1792 KiB
        (1280 * KIB, 4, 1280 * KIB),
        (1281 * KIB, 4, 1536 * KIB),
        (1793 * KIB, 4, 2048 * KIB),
        (2 * MIB, 4, 2 * MIB),
        (2000, 4, 2048),  # not above 4 * 512: rounded as usual
        (2049, 4, 2560),
        (5 * MIB + 1, 8, 5 * MIB + 512 * KIB),
    ],
)
def test_that_divisions_round_within_a_doubling(size, divisions, expected):
    settings = AllocatorSettings(roundup_power2_divisions=uniform_divisions(divisions))
    assert settings.round_sizes(np.array([size])).tolist() == [expected]


def test_that_divisions_depend_on_the_interval_of_the_size():
    divisions = [0] * 16
    divisions[4] = 4  # 16 to 32 MiB
    settings = AllocatorSettings(roundup_power2_divisions=tuple(divisions))
    sizes = np.array([17 * MIB, 9 * MIB, 33 * MIB])
    assert settings.round_sizes(sizes).tolist() == [20 * MIB, 9 * MIB, 33 * MIB]


@pytest.mark.parametrize(
    ("size", "segment"),
    [(1, 2), (MIB, 2), (MIB + 1, 20), (9 * MIB, 20), (10 * MIB, 10), (11 * MIB, 12), (12 * MIB + 1, 14)],
)
def test_that_a_segment_is_2_mib_or_20_mib_or_a_multiple_of_2_mib(size, segment):
    driven = Driven()
    driven.malloc(size)
    assert driven.model.reserved_bytes == segment * MIB


def test_that_small_and_large_requests_and_streams_and_pools_never_share_a_segment():
    driven = Driven()
    driven.malloc(1000)
    driven.malloc(2 * MIB)
    driven.malloc(1000, stream=1)
    driven.malloc(1000, pool="(0, 1)")
    assert driven.model.reserved_bytes == (2 + 20 + 2 + 2) * MIB


def test_that_the_smallest_block_that_fits_is_taken_and_the_lowest_of_equals():
    driven = Driven()
    blocks = [driven.malloc(size * MIB) for size in (40, 30, 30, 50)]
    for block in reversed(blocks):
        driven.model.free(block)
    first = blocks[1].address
    assert driven.malloc(29 * MIB + 1).address == first
    assert driven.malloc(30 * MIB).address == blocks[2].address
    assert driven.malloc(31 * MIB).address == blocks[0].address


def test_that_a_large_block_is_split_only_above_1_mib_of_rest_and_a_small_one_from_512_bytes():
    driven = Driven()
    whole = driven.malloc(20 * MIB - MIB)
    assert whole.size == 20 * MIB  # 20 MiB segment, a rest of exactly 1 MiB stays in it
    split = driven.malloc(19 * MIB - 512)
    assert (split.size, split.after.size) == (19 * MIB - 512, MIB + 512)
    small = driven.malloc(512)
    assert (small.size, small.after.size) == (512, 2 * MIB - 512)


def test_that_freed_neighbours_become_one_block():
    driven = Driven()
    a, b, c = (driven.malloc(600 * KIB) for _ in range(3))
    driven.model.free(a)
    driven.model.free(c)
    driven.model.free(b)
    domain = driven.model.place("", 0).small
    assert [block.size for block in domain.blocks] == [2 * MIB]


def test_that_oversize_blocks_serve_only_oversize_requests_of_nearly_their_size():
    driven = Driven(max_split_bytes=100 * MIB)
    driven.model.free(driven.malloc(200 * MIB))
    assert driven.malloc(50 * MIB).size == 50 * MIB  # does not touch the 200 MiB block
    assert driven.model.reserved_bytes == 250 * MIB
    assert driven.malloc(180 * MIB).size == 180 * MIB  # 200 is 20 MiB too much
    assert driven.malloc(182 * MIB).size == 200 * MIB  # taken whole, never split
    assert driven.model.reserved_bytes == 430 * MIB


def test_that_a_full_device_gets_the_cache_back_and_the_request_is_tried_again():
    driven = Driven(limit=100 * MIB)
    driven.model.free(driven.malloc(60 * MIB))
    block = driven.malloc(80 * MIB)
    assert block is not None
    assert (driven.model.retries, driven.model.reserved_bytes) == (1, 80 * MIB)


def test_that_a_segment_with_a_block_in_use_cannot_be_given_back():
    driven = Driven(limit=100 * MIB)
    parts = [driven.malloc(20 * MIB) for _ in range(3)]
    half = driven.malloc(5 * MIB)
    driven.malloc(5 * MIB)
    driven.model.free(half)
    for block in parts:
        driven.model.free(block)
    assert driven.malloc(90 * MIB) is None
    assert driven.model.reserved_bytes == 20 * MIB  # the one that holds 5 MiB


def test_that_the_oversize_segment_that_is_large_enough_goes_before_the_whole_cache():
    driven = Driven(limit=400 * MIB, max_split_bytes=50 * MIB)
    blocks = [driven.malloc(size * MIB) for size in (30, 60, 200)]
    for block in blocks:
        driven.model.free(block)
    assert driven.malloc(150 * MIB) is not None
    assert (driven.model.retries, driven.model.reserved_bytes) == (0, (30 + 60 + 150) * MIB)


def test_that_the_largest_oversize_segments_go_first_when_no_single_one_is_enough():
    driven = Driven(limit=330 * MIB, max_split_bytes=50 * MIB)
    for block in [driven.malloc(size * MIB) for size in (60, 100, 130)]:
        driven.model.free(block)
    assert driven.malloc(200 * MIB) is not None
    assert (driven.model.retries, driven.model.reserved_bytes) == (0, (60 + 200) * MIB)


def test_that_blocks_other_streams_use_stay_active_until_a_retry_waits_for_them():
    driven = Driven(limit=100 * MIB)
    block = driven.malloc(60 * MIB)
    driven.model.hold(block)
    assert driven.model.active_bytes == 60 * MIB
    assert driven.malloc(30 * MIB).address != block.address
    assert driven.malloc(70 * MIB) is not None
    assert driven.model.pending == {}


def test_that_the_most_in_use_counts_while_as_much_is_reserved_as_ever():
    driven = Driven()
    first = driven.malloc(30 * MIB)
    driven.malloc(5 * MIB)
    assert (driven.model.peak_reserved_bytes, driven.model.active_at_peak_bytes) == (50 * MIB, 35 * MIB)
    more = driven.malloc(12 * MIB)  # what is left of the 20 MiB serves it
    assert driven.model.active_at_peak_bytes == 47 * MIB
    for block in (first, more):
        driven.model.free(block)
    driven.model.empty_cache()
    driven.malloc(26 * MIB)
    assert (driven.model.reserved_bytes, driven.model.active_at_peak_bytes) == (46 * MIB, 47 * MIB)
    driven.malloc(30 * MIB)  # a new peak counts anew
    assert (driven.model.peak_reserved_bytes, driven.model.active_at_peak_bytes) == (76 * MIB, 61 * MIB)


def test_that_emptying_the_cache_keeps_private_pools():
    driven = Driven()
    driven.model.free(driven.malloc(30 * MIB))
    driven.model.free(driven.malloc(30 * MIB, pool="(1, 0)"))
    driven.model.empty_cache()
    assert driven.model.reserved_bytes == 30 * MIB


def test_that_garbage_is_collected_above_the_threshold_the_oldest_first():
    driven = Driven(limit=100 * MIB, garbage_collection_threshold=0.5)
    older, newer = driven.malloc(12 * MIB), driven.malloc(14 * MIB)
    driven.model.free(older)
    driven.malloc(30 * MIB)
    driven.model.free(newer)
    assert driven.model.reserved_bytes == 56 * MIB
    driven.malloc(20 * MIB)  # 6 MiB above half: the one that was passed over twice goes, not the other
    assert [block.size for block in driven.model.place("", 0).large.blocks] == [14 * MIB]
    assert (driven.model.retries, driven.model.reserved_bytes) == (0, (14 + 30 + 20) * MIB)


def test_that_without_a_limit_no_garbage_is_collected():
    driven = Driven(garbage_collection_threshold=0.1)
    driven.model.free(driven.malloc(30 * MIB))
    driven.malloc(60 * MIB)
    assert driven.model.segment_frees == 0


def test_that_expandable_segments_grow_page_by_page_in_one_piece():
    driven = Driven(expandable_segments=True)
    first = driven.malloc(5 * MIB)
    assert driven.model.reserved_bytes == 20 * MIB
    second = driven.malloc(30 * MIB)  # 15 MiB are there, one page more
    assert second.address == first.address + first.size
    assert driven.model.reserved_bytes == 40 * MIB
    driven.malloc(100)
    assert driven.model.reserved_bytes == 42 * MIB


def test_that_expandable_segments_give_back_whole_pages_and_fill_the_gap_again():
    driven = Driven(expandable_segments=True)
    first, middle, last = (driven.malloc(size * MIB) for size in (30, 60, 5))
    driven.model.free(middle)
    driven.model.empty_cache()
    assert driven.model.reserved_bytes == 60 * MIB  # pages 2 and 3 of 5 went: 40 to 80 MiB
    again = driven.malloc(60 * MIB)
    assert again.address == first.address + first.size
    assert again.address + again.size == last.address
    assert driven.model.reserved_bytes == 100 * MIB


def test_that_expandable_segments_keep_at_a_limit_what_cannot_be_mapped():
    driven = Driven(limit=50 * MIB, expandable_segments=True)
    driven.malloc(5 * MIB)
    assert driven.malloc(60 * MIB) is None
    assert driven.model.reserved_bytes <= 50 * MIB
    assert driven.malloc(30 * MIB) is not None


def test_that_settings_are_read_as_snapshots_write_them():
    said = {
        "PYTORCH_CUDA_ALLOC_CONF": "large_segment_size_mb:40, max_non_split_rounding_mb:30",
        "max_split_size": 128 * MIB,
        "garbage_collection_threshold": 0.8,
        "expandable_segments": True,
        "roundup_power2_divisions": {str(1 << index): 4 for index in range(16)},
    }
    settings = recorded_settings(said)
    assert settings == AllocatorSettings(
        True, 128 * MIB, 30 * MIB, 40 * MIB, uniform_divisions(4), garbage_collection_threshold=0.8
    )
    assert settings.environment == (
        "expandable_segments:True,max_split_size_mb:128,max_non_split_rounding_mb:30,"
        "large_segment_size_mb:40,roundup_power2_divisions:4,garbage_collection_threshold:0.8"
    )
    assert recorded_settings({"max_split_size": -1}) == AllocatorSettings()
    odd = recorded_settings({"roundup_power2_divisions": {"1": 2, "2": 4}})
    assert odd.environment.startswith("roundup_power2_divisions:[1:2,2:4,4:1,")


@pytest.mark.parametrize("nonsense", [{"max_split_size": "x"}, {"roundup_power2_divisions": [1]},
                                      {"garbage_collection_threshold": float("nan")}])  # fmt: skip
def test_that_nonsense_in_settings_counts_as_not_said(nonsense):
    assert recorded_settings(nonsense) == AllocatorSettings()
