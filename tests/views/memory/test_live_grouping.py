"""A grouping of a session that grows: it follows event by event, and is made anew only where it must be."""

import pytest

from tensorscope.models.session_model import SessionModel
from tensorscope.views.memory import regrouping
from tensorscope.views.memory.memory_view import MemoryView
from tests.support.alloc_stream import AllocStream


@pytest.fixture
def stream():
    stream = AllocStream(7)
    stream.resync()
    stream.events(400)
    return stream


@pytest.fixture
def view(qtbot, stream):
    session = SessionModel("live")
    session.store = stream.store
    view = MemoryView()
    qtbot.addWidget(view)
    view.resize(900, 600)
    view.show()
    view.set_session(session)
    qtbot.waitUntil(view.is_idle, timeout=10_000)
    return view


@pytest.fixture
def pairings(monkeypatch):
    made, real = [], regrouping.find_allocations

    def counted(store):
        made.append(len(store.tables["alloc"]))
        return real(store)

    monkeypatch.setattr(regrouping, "find_allocations", counted)
    return made


def choose(qtbot, view, group):
    box = view.findChild(object, "memoryGroup")
    box.setCurrentIndex(box.findData(group))
    box.activated.emit(box.currentIndex())
    qtbot.waitUntil(view.is_idle, timeout=10_000)


def assert_whole(view, stream):
    snapshot = view.snapshot()
    assert view._model.shown.rows[-1] == stream.row - 1
    assert (snapshot.series_bytes.sum(axis=1) == snapshot.high_bytes).all()
    assert int(view._model.shown.now_bytes.sum()) == sum(block.size for block in stream.live)


def test_that_new_events_are_in_the_picture_without_pairing_everything_again(view, stream, pairings, qtbot):
    choose(qtbot, view, "phase")
    for _ in range(20):
        stream.events(15)
        view.refresh()
        assert_whole(view, stream)
    assert pairings == [400]


def test_that_another_grouping_of_the_same_events_pairs_nothing(view, pairings, qtbot):
    choose(qtbot, view, "phase")
    choose(qtbot, view, "device")
    choose(qtbot, view, "stream")
    assert pairings == [400]


def test_that_a_resync_leads_to_a_new_grouping_and_the_old_one_ends_before(view, stream, pairings, qtbot):
    choose(qtbot, view, "phase")
    stream.resync()
    stream.events(30)
    view.refresh()
    grouped = view._model.grouped
    assert grouped.tail.stopped
    assert view._model.known_until_ns() == int(grouped.live.times_ns[-1])
    qtbot.waitUntil(view.is_idle, timeout=10_000)  # though nothing new comes
    assert_whole(view, stream)
    assert len(pairings) == 2
