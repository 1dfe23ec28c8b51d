"""A part of a file holds what the whole holds there; what lived before is in the baseline."""

import numpy as np
import pytest

from tensorscope.models.session_loading import load_session
from tensorscope.models.session_model import SessionModel
from tensorscope.readers import selection as selection_module
from tensorscope.readers.documents import read_document
from tensorscope.readers.frames import frames_of
from tensorscope.readers.selection import Selection, cut, summary
from tests.support.random_snapshots import ToyAllocator, write_snapshot
from tests.support.sessions import fed


def totals(store):
    start = sum(int(record.columns["size_bytes"].sum()) for record in store.records("baseline"))
    return np.append(start, start + np.cumsum(store.tables["alloc"]["delta_bytes"]))


def stores(toy, wanted):
    found = []
    for part in (None, wanted):
        file = read_document(toy.snapshot())
        if part is not None:
            cut(file, part)
        session = fed(SessionModel(), list(frames_of(file, "a.pickle")))
        assert session.problems == []
        found.append(session.store)
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("first", "last"), [(0, 40), (37, 120), (100, None), (None, 60), (150, 151)])
def test_that_a_range_of_events_has_the_totals_of_the_whole_file(seed, first, last):
    whole, part = stores(ToyAllocator(seed, devices=2, streams=2).run(300), Selection("events", first, last))
    expected = totals(whole)[(first or 0) : (last if last is not None else len(whole.tables["alloc"])) + 1]
    assert totals(part).tolist() == expected.tolist()
    assert part.tables["trace"]["alloc_row"].min() >= 0


def test_that_steps_are_chosen_whole():
    toy = ToyAllocator(2)
    for _ in range(4):
        toy.run(len(toy.order) + 40)
        toy.annotate("START", "Optimizer.step#SGD.step")
        toy.annotate("END", "Optimizer.step#SGD.step")
    whole, part = stores(toy, Selection("steps", 1, 2))
    assert set(part.tables["alloc"]["step"].tolist()) == {1, 2}
    assert part.tables["step"]["step"].tolist() in ([1, 2], [1])
    assert summary(read_document(toy.snapshot()))["last_step"] == 3
    assert len(part.tables["alloc"]) < len(whole.tables["alloc"])


def test_that_the_state_of_the_end_is_not_shown_for_another_moment():
    _, part = stores(ToyAllocator(2).run(200), Selection("events", 0, 50))
    assert part.records("segments") == []
    assert any("was not chosen" in note for note in part.records("source")[0].meta["notes"])
    _, tail = stores(ToyAllocator(2).run(200), Selection("events", 50, None))
    assert len(tail.records("segments")) == 1


def test_that_a_range_without_events_is_refused(tmp_path):
    path = write_snapshot(ToyAllocator(1).run(100).snapshot(), tmp_path / "a.pickle")
    with pytest.raises(Exception, match="choose another range"):
        load_session(path, wanted=("--events", "100000:"))


@pytest.mark.parametrize("text", ["", "5", "9:3", "a:b", "-1:4"])
def test_that_what_is_no_range_is_refused(text):
    with pytest.raises(ValueError, match=r"range|begins|invalid"):
        Selection.of(text, "events")


def test_that_a_large_file_asks_and_takes_the_answer(tmp_path, monkeypatch):
    path = write_snapshot(ToyAllocator(1).run(400).snapshot(), tmp_path / "a.pickle")
    asked = []

    def choose(found):
        asked.append(found)
        return "events", "10:60"

    small = load_session(path, choose=choose)
    assert asked == []  # a small one does not ask
    assert selection_module.ASK_ABOVE == 1_000_000
    part = load_session(path, wanted=("--events", "10:60"))
    assert len(part.store.tables["alloc"]) == 50
    assert totals(part.store)[0] == totals(small.store)[10]
