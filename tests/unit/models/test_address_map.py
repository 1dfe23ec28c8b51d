"""Blocks and segments as rectangles: inside their regions, apart, and found again."""

import numpy as np
import pytest

from tensorscope.models.address_map import GAP_BYTES, address_map
from tensorscope.models.frozen_store import FrozenStore
from tensorscope.models.session_model import SessionModel
from tensorscope.readers.documents import read_document
from tensorscope.readers.frames import frames_of
from tests.support.random_snapshots import ToyAllocator
from tests.support.sessions import fed, sample_session


def map_of(seed, group="category", axis="event", **options):
    toy = ToyAllocator(seed, **options).run(250)
    session = fed(SessionModel(), list(frames_of(read_document(toy.snapshot()), "a")))
    return toy, address_map(FrozenStore(session.store), group, axis)


@pytest.mark.parametrize("axis", ["event", "time"])
@pytest.mark.parametrize("seed", range(5))
def test_that_no_two_blocks_overlap(seed, axis):
    _, found = map_of(seed, axis=axis, devices=2, streams=2)
    order = np.argsort(found.y0, kind="stable")
    for at, one in enumerate(order.tolist()):
        for other in order[at + 1 :].tolist():
            if found.y0[other] >= found.y1[one]:
                break
            assert found.x1[one] <= found.x0[other] or found.x1[other] <= found.x0[one]


@pytest.mark.parametrize("seed", range(5))
def test_that_every_block_lies_in_a_segment_of_its_time(seed):
    _, found = map_of(seed, devices=2)
    for block in range(len(found.x0)):
        inside = (found.segment_y0 <= found.y0[block]) & (found.segment_y1 >= found.y1[block])
        inside &= (found.segment_x0 <= found.x0[block]) & (found.segment_x1 >= found.x1[block] - 1)
        assert inside.any()


def test_that_empty_space_is_left_out_and_addresses_keep_their_distances():
    _, found = map_of(3, devices=2)
    regions = found.regions
    assert (np.diff(regions.offset) > regions.bytes[:-1]).all()
    assert regions.height < regions.bytes.sum() * 1.5
    blocks = found.blocks
    for one in range(0, len(blocks), 5):
        for other in range(0, len(blocks), 7):
            apart = int(blocks.address[other]) - int(blocks.address[one])
            if blocks.device[one] == blocks.device[other] and abs(apart) < GAP_BYTES // 2:
                assert found.y0[other] - found.y0[one] == apart


def test_that_a_point_finds_its_block_and_a_row_its_rectangle():
    _, found = map_of(4)
    for block in range(0, len(found.x0), 9):
        x, y = (found.x0[block] + found.x1[block]) / 2, (found.y0[block] + found.y1[block]) / 2
        assert found.block_at(x, y) == block
    assert found.block_at(-5.0, -5.0) == -1
    row = int(np.flatnonzero(found.blocks.begin_row >= 0)[0])
    assert found.index_of(0, int(found.blocks.begin_row[row])) == row
    assert found.index_of(int(found.blocks.address[row]), -1) >= row


@pytest.mark.parametrize("group", ["category", "module", "stack", "stream", "phase", "pool", "device"])
def test_that_every_grouping_gives_each_block_a_class(group):
    found = address_map(FrozenStore(sample_session().store), group, "time")
    assert len(found.class_id) == len(found.blocks)
    if found.grouped is not None:
        assert int(found.class_id.max()) < len(found.grouped.labels)


def test_that_a_session_without_events_has_no_map():
    assert address_map(FrozenStore(SessionModel().store), "category", "time") is None
