from __future__ import annotations

import numpy as np

from tensorscope.core.wire import FrameParser, encode
from tensorscope.models.session_store import SessionStore
from tests.support.sample_frames import sample_frames


def test_that_the_sample_session_survives_the_wire_and_sums_exactly_by_category() -> None:
    store, parser = SessionStore(), FrameParser()
    for frame in sample_frames(steps=5):
        for received in parser.feed(encode(frame)):
            store.ingest(received)
    alloc, base = store.tables["alloc"], store.records("baseline")[0]
    per_category = np.zeros((8, len(alloc)), dtype=np.int64)
    np.add.at(per_category, (alloc["category"], np.arange(len(alloc))), alloc["delta_bytes"])
    total = base.columns["size_bytes"].sum() + per_category.cumsum(axis=1).sum(axis=0)
    assert len(alloc) > 100
    assert (total == alloc["total_bytes"]).all()
    assert store.string(int(store.records("graph")[0].columns["node_name"][0])) == "NllLossBackward0"
