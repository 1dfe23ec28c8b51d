"""Files that are damaged or mean harm: a message, nothing run, no memory taken."""

import gzip
import os
import pickle
import random
import time

import pytest

from tensorscope.core.errors import ReaderError, TensorScopeError
from tensorscope.models.session_loading import load_session
from tensorscope.readers.documents import load_document, read_document
from tensorscope.readers.frames import frames_of
from tests.support.random_snapshots import ToyAllocator, write_snapshot

INPUTS = 10_000


def read(path):
    return list(frames_of(read_document(load_document(path)), "a"))


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Return `data` with bytes changed, left out, doubled, or with its end cut off."""
    found = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(found))
        what = rng.randrange(4)
        if what == 0:
            found[at] = rng.randrange(256)
        elif what == 1:
            del found[at : at + rng.randrange(1, 40)]
        elif what == 2:
            found[at:at] = found[max(0, at - rng.randrange(40)) : at]
        else:
            del found[at + 1 :]
        if not found:
            break
    return bytes(found)


def without_far_memo(data: bytes) -> bool:
    """Return whether `data` can be loaded here: a memo index of gigabytes is for the child alone."""
    return b"r" not in data or not any(
        int.from_bytes(data[at + 1 : at + 5], "little") > 1 << 22
        for at in range(len(data) - 4)
        if data[at : at + 1] == b"r"
    )


def test_that_ten_thousand_damaged_snapshots_give_a_message_or_a_session(tmp_path):
    rng = random.Random(20)
    sources = [
        pickle.dumps(ToyAllocator(seed, streams=2).run(12).snapshot(layout), protocol)
        for seed, (layout, protocol) in enumerate([("2023-09", 2), ("2024-02", 4), ("2026-03", 5)])
    ]
    path = tmp_path / "a.pickle"
    refused = tried = 0
    while tried < INPUTS:
        data = damaged(rng.choice(sources), rng)
        if not without_far_memo(data):
            continue
        tried += 1
        path.write_bytes(data)
        try:
            read(path)
        except ReaderError:
            refused += 1
        except MemoryError:  # the child says so: it has a limit
            refused += 1
    assert refused > INPUTS // 3


@pytest.mark.parametrize("protocol", [0, 1, 2, 4])
def test_that_a_global_is_never_resolved(protocol, tmp_path):
    class Harm:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "harm"),)

    path = tmp_path / "a.pickle"
    path.write_bytes(pickle.dumps({"segments": [Harm()], "device_traces": []}, protocol))
    with pytest.raises(TensorScopeError, match=r"import|neither a session file"):
        load_session(path)
    assert not (tmp_path / "harm").exists()


HOSTILE = {
    "memo": b"\x80\x04]r\xff\xff\xff\xff.",
    "nested key": b"\x80\x04}" + b")" + b"\x85" * 200_000 + b"K\x01s.",
    "persistent id": b"\x80\x04X\x01\x00\x00\x00aQ.",
    "extension": b"\x80\x04\x82\x01.",
    "long": b"\x80\x04\x8b\xff\xff\xff\x7f.",
    "bytes": b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",
    "json": b"[" * 100_000,
    "empty": b"",
    "text": b"hello world",
    "gzip of nothing": gzip.compress(b""),
    "half a gzip": gzip.compress(os.urandom(5000))[:3000],
    "gzip bomb": gzip.compress(b"[" + b" " * (1 << 22)),
    "png": b"\x89PNG\r\n\x1a\n" + bytes(100),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_that_hostile_files_give_a_message_through_the_child(name, tmp_path):
    path = tmp_path / "a.pickle"
    path.write_bytes(HOSTILE[name])
    with pytest.raises(TensorScopeError) as failure:
        load_session(path)
    assert str(path) in str(failure.value)
    assert "Traceback" not in str(failure.value)


def test_that_reading_can_be_given_up(tmp_path):
    path = write_snapshot(ToyAllocator(1).run(2000).snapshot(), tmp_path / "a.pickle")
    asked = []

    def progress(done, total):
        asked.append((done, total))
        return False

    begun = time.monotonic()
    session = load_session(path, progress)
    assert len(asked) == 1
    assert asked[0][1] == path.stat().st_size
    assert len(session.store.tables["alloc"]) == 0
    assert time.monotonic() - begun < 60  # it did not wait for the child


def test_that_a_missing_file_is_named(tmp_path):
    with pytest.raises(TensorScopeError, match="No such file"):
        load_session(tmp_path / "no.pickle")
