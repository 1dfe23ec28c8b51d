from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tensorscope.core.errors import SessionFileError, TensorScopeError
from tensorscope.core.session_writer import APPLICATION_ID, SessionWriter
from tensorscope.core.wire import Frame, encode
from tensorscope.models.saved_frames import saved_frames
from tensorscope.models.session_store import SessionStore
from tensorscope.transport.session_reader import SessionReader, read_session
from tests.support.sample_file import sample_session_file
from tests.support.sample_frames import sample_frames

WRITER = """
import sys
from tensorscope.core.session_writer import SessionWriter
from tests.support.sample_frames import sample_frames
frames = sample_frames(steps=2)
writer = SessionWriter(sys.argv[1])
print("ready", flush=True)
count = 0
while True:
    for frame in frames:
        writer.write(frame)
        if frame.kind != "strings":
            count += 1
            sys.stdout.write(f"{count}\\n")
            sys.stdout.flush()
"""


def _wire(frames: object) -> list[bytes]:
    return [encode(frame) for frame in frames]  # type: ignore[attr-defined]


def test_that_a_session_file_gives_back_the_frames_that_were_written(tmp_path: Path) -> None:
    path = sample_session_file(tmp_path, steps=3)
    expected = [frame for frame in sample_frames(3) if frame.kind != "strings"]
    found = list(read_session(path))
    assert found[0].kind == "strings"
    assert _wire(found[1:]) == _wire(expected)
    assert os.listdir(tmp_path) == [path.name]


def test_that_an_existing_file_is_never_overwritten_unless_asked(tmp_path: Path) -> None:
    path = sample_session_file(tmp_path, steps=1)
    before = path.read_bytes()
    with pytest.raises(SessionFileError, match="exists already and was not touched"):
        SessionWriter(path)
    assert path.read_bytes() == before
    SessionWriter(path, replace=True).close()
    assert list(read_session(path)) == []


def test_that_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(SessionFileError, match=r"missing/a\.tscope: No such file"):
        SessionWriter(tmp_path / "missing" / "a.tscope")


def test_that_a_writer_killed_at_any_moment_loses_at_most_one_chunk(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    delays = random.Random(7)
    for number in range(20):
        path = tmp_path / f"{number}.tscope"
        command = [sys.executable, "-c", WRITER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            stop_at = delays.randrange(1, 60)
            acknowledged = 0
            for line in process.stdout:
                acknowledged = int(line)
                if acknowledged >= stop_at:
                    break
            process.send_signal(signal.SIGKILL)
            acknowledged = max([acknowledged, *(int(line) for line in process.stdout if line.endswith("\n"))])
        with SessionReader(path) as reader:
            found = sum(frame.kind != "strings" for frame in reader.frames())
            assert reader.problems == []
        assert found in (acknowledged, acknowledged + 1)


def test_that_a_half_written_transaction_is_undone_in_a_copy_and_the_file_is_not_touched(
    tmp_path: Path,
) -> None:
    path = sample_session_file(tmp_path, steps=2)
    broken = tmp_path / "broken.tscope"
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = TRUNCATE")
    database.execute("PRAGMA cache_size = 1")  # spills pages into the file before the commit
    database.execute("BEGIN IMMEDIATE")
    for _ in range(20):
        database.execute("INSERT INTO chunks VALUES(NULL, 'x', 0, 0, 0, x'00', zeroblob(100000))")
    shutil.copyfile(path, broken)
    shutil.copyfile(f"{path}-journal", f"{broken}-journal")
    database.close()
    before = broken.read_bytes()
    with SessionReader(broken) as reader:
        found = [frame for frame in reader.frames() if frame.kind != "strings"]
        assert reader.problems == []
    assert len(found) == len(sample_frames(2)) - 1
    assert broken.read_bytes() == before


def _write_all(writer: SessionWriter, frames: list[Frame]) -> None:
    for frame in frames:
        writer.write(frame)


def _damage_row(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as database:
        database.execute(statement)
    database.close()


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE chunks SET header = x'00ff' WHERE id = 5", "not JSON"),
        ("UPDATE chunks SET payload = substr(payload, 2) WHERE id = 5", "shorter than its columns"),
        ("UPDATE chunks SET payload = payload || x'00' WHERE id = 5", "wrong type|too many"),
        ("UPDATE chunks SET payload = 'text' WHERE id = 5", "wrong type"),
        ("UPDATE chunks SET kind = 'step' WHERE id = 5", "does not fit its content|wrong type"),
        ("UPDATE chunks SET step = 'x' WHERE id = 5", "wrong type"),
        ("UPDATE chunks SET payload = zeroblob(200000000) WHERE id = 5", "too big|too large"),
        ("DELETE FROM chunks WHERE id = 5", "number 6"),
    ],
)
def test_that_a_damaged_file_opens_up_to_the_damage_and_says_so(
    tmp_path: Path, statement: str, reason: str
) -> None:
    path = sample_session_file(tmp_path, steps=3)
    _damage_row(path, statement)
    with SessionReader(path) as reader:
        found = [frame for frame in reader.frames() if frame.kind != "strings"]
    assert len(found) == 4
    assert len(reader.problems) == 1
    pattern = rf"Cannot read chunk 5 of \d+ in .*sample.tscope: .*({reason}).*\. Opened the first 4\."
    assert re.search(pattern, reader.problems[0]), reader.problems


def _hostile(make: Callable[[sqlite3.Connection], object]) -> Callable[[Path], None]:
    def build(path: Path) -> None:
        database = sqlite3.connect(path)
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute("PRAGMA user_version = 1")
        database.execute("CREATE TABLE manifest(key, value)")
        database.execute("CREATE TABLE strings(id, value)")
        make(database)
        database.commit()
        database.close()

    return build


BOMB = """CREATE VIEW chunks AS WITH RECURSIVE bomb(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM bomb)
SELECT id, 'x' AS kind, 0 AS step, 0 AS clock_ns, 0 AS seq, x'' AS header, x'' AS payload FROM bomb"""
GENERATED = """CREATE TABLE chunks(id INTEGER PRIMARY KEY, kind, step, clock_ns, seq, header,
payload AS (upper('run me')))"""


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda path: path.mkdir(), "Is a directory"),
        (lambda path: path.write_bytes(b""), "the file is empty"),
        (lambda path: path.write_bytes(b"\x80\x04cos\nsystem\n."), "it is not a session file"),
        (lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(5000)), "damaged|not a session file"),
        (
            lambda path: sqlite3.connect(path).executescript("CREATE TABLE a(b);").close(),
            "not a session file",
        ),
        (lambda path: None, "No such file"),
        (_hostile(lambda d: d.execute(BOMB)), "tables are not those"),
        (_hostile(lambda d: d.execute("PRAGMA user_version = 9")), "newer TensorScope"),
        (_hostile(lambda d: d.execute("CREATE VIRTUAL TABLE chunks USING fts5(id)")), "tables are not those"),
    ],
)
def test_that_what_is_no_session_file_is_refused_with_the_reason(
    tmp_path: Path, build: Callable[[Path], object], message: str
) -> None:
    path = tmp_path / "x.tscope"
    build(path)
    with pytest.raises(SessionFileError, match=message) as caught:
        list(read_session(path))
    assert str(path) in str(caught.value)


def test_that_a_function_in_a_hostile_file_is_never_run(tmp_path: Path) -> None:
    path = tmp_path / "x.tscope"
    _hostile(lambda d: (d.execute(GENERATED), d.execute("INSERT INTO chunks(id, kind) VALUES(1, 'x')")))(path)
    with pytest.raises(SessionFileError, match=r"not authorized|prohibited|wrong type"):
        list(read_session(path))


def test_that_random_damage_never_escapes_as_anything_but_a_message(tmp_path: Path) -> None:
    good = sample_session_file(tmp_path, steps=1).read_bytes()
    path = tmp_path / "fuzz.tscope"
    dice = random.Random(3)
    for number in range(1500):
        data = bytearray(good)
        if number % 3 == 0:
            del data[dice.randrange(len(data)) :]
        for _ in range(dice.randrange(1, 12)):
            if data:
                data[dice.randrange(len(data))] = dice.randrange(256)
        path.write_bytes(data)
        store = SessionStore()
        with contextlib.suppress(TensorScopeError):
            for frame in read_session(path):
                store.ingest(frame)


def test_that_a_store_written_to_a_file_and_read_again_is_the_same_store(tmp_path: Path) -> None:
    first, second = SessionStore(), SessionStore()
    for frame in sample_frames(steps=30):
        first.ingest(frame)
    writer = SessionWriter(tmp_path / "again.tscope")
    for frame in saved_frames(first):
        writer.write(frame)
    writer.close()
    for frame in read_session(tmp_path / "again.tscope"):
        second.ingest(frame)
    assert second.strings == first.strings
    assert second.heartbeat == first.heartbeat
    for kind, table in first.tables.items():
        for name in table.names:
            assert table[name].tobytes() == second.tables[kind][name].tobytes()
    for one, two in zip(first.all_records(), second.all_records(), strict=True):
        assert (one.kind, one.step, one.meta, one.rows) == (two.kind, two.step, two.meta, two.rows)
        assert {name: array.tobytes() for name, array in one.columns.items()} == {
            name: array.tobytes() for name, array in two.columns.items()
        }


def test_that_a_full_disk_is_reported_and_keeps_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "full.tscope"
    writer = SessionWriter(path)
    (pages,) = writer._database.execute("PRAGMA page_count").fetchone()
    writer._database.execute(f"PRAGMA max_page_count = {pages + 8}")
    frames = [frame for frame in sample_frames(steps=20) if frame.kind != "strings"]
    with pytest.raises(SessionFileError, match=r"after \d+ chunks: database or disk is full"):
        _write_all(writer, frames)
    writer.close()
    assert writer.chunks > 0
    assert _wire(read_session(path)) == _wire(frames[: writer.chunks])


def test_that_unknown_kinds_survive_a_file(tmp_path: Path) -> None:
    writer = SessionWriter(tmp_path / "a.tscope")
    writer.write(Frame("from-the-future", 3, meta={"x": [1, {"y": None}]}))
    writer.close()
    (frame,) = read_session(tmp_path / "a.tscope")
    assert (frame.kind, frame.step, frame.meta) == ("from-the-future", 3, {"x": [1, {"y": None}]})
