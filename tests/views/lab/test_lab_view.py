import csv
from itertools import pairwise

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QPushButton, QSpinBox

from tensorscope.core.wire import Frame
from tensorscope.models.session_model import SessionModel
from tensorscope.views.lab.lab_view import CSV_HEADER, LabView
from tests.support.sample_frames import MS, ORIGIN_NS, column, sample_frames
from tests.support.sessions import FakeSource, fed, sample_session

OFFERED = [
    {"name": "autocast", "title": "bf16 autocast", "on": False, "ok": True, "reason": "",
     "params": [{"name": "dtype", "choices": ["bfloat16", "float16"], "default": "bfloat16",
                 "refused": {"float16": "needs a CUDA device"}}], "chosen": {},
     "explain": "Runs matmuls in bfloat16."},
    {"name": "tf32", "title": "TF32", "on": False, "ok": False, "reason": "no CUDA device", "params": [],
     "explain": ""},
]  # fmt: skip


@pytest.fixture
def source():
    return FakeSource()


@pytest.fixture
def view(qtbot, source):
    view = LabView()
    qtbot.addWidget(view)
    view.resize(1000, 600)
    view.show()
    session = fed(SessionModel("live", source), sample_frames(5))
    view.set_session(session)
    source.reply(OFFERED)
    session.pump()
    return view


def row_of(view, name):
    return view.findChild(object, f"labToggle_{name}")


def note_of(view, name):
    return row_of(view, name).findChild(object, "labToggleNote").text()


def button(view, name, which):
    return row_of(view, name).findChild(QPushButton, which)


def commands(source):
    return [(frame.meta["name"], frame.meta["args"]) for frame in source.sent]


def step_frame(session, step, variant, ms=100):
    words = session.store.strings
    if variant not in words:
        session.ingest(Frame("strings", meta={"first": len(words), "values": [variant]}))
    values = {name: [0] for name in session.store.tables["step"].names}
    t1 = ORIGIN_NS + (step + 1) * 1000 * MS
    values |= {"step": [step], "t0_ns": [t1 - ms * MS], "t1_ns": [t1], "loss": [1.0], "grad_norm": [1.0]}
    values |= {"peak_bytes": [1 << 20], "level": [1], "variant": [words.index(variant)]}
    dtypes = {name: array.dtype.str[1:] for name, array in
              ((n, session.store.tables["step"][n]) for n in values)}  # fmt: skip
    return Frame("step", step, t1, columns={n: column(dtypes[n], v) for n, v in values.items()})


def test_that_what_does_not_apply_says_why_and_cannot_be_switched(view):
    assert "no CUDA device" in note_of(view, "tf32")
    assert not button(view, "tf32", "labToggleSwitch").isEnabled()
    assert button(view, "autocast", "labToggleSwitch").isEnabled()


def test_that_a_switch_is_pending_until_the_step_at_which_it_took_effect(view, source):
    button(view, "autocast", "labToggleSwitch").click()
    args = {"name": "autocast", "on": True, "params": {"dtype": "bfloat16"}}
    assert commands(source)[-1] == ("toggle", args)
    assert "Waiting" in note_of(view, "autocast")
    assert not view.is_idle()
    meta = {"name": "autocast", "on": True, "params": {}, "variant": "autocast-bf16"}
    source.waiting.append(Frame("toggle", 5, meta=meta))
    source.reply(step=5)
    view._session.pump()
    assert "On since step 5" in note_of(view, "autocast")
    assert button(view, "autocast", "labToggleSwitch").text() == "Switch off"


def test_that_a_refusal_is_shown_with_its_reason(view, source):
    button(view, "autocast", "labToggleSwitch").click()
    source.reply(ok=False, error="the model is compiled", step=5)
    view._session.pump()
    assert "the model is compiled" in note_of(view, "autocast")
    assert button(view, "autocast", "labToggleSwitch").isEnabled()


def run_ab(view, source, pairs=3, steps=4, off_ms=100, on_ms=80):
    """Drive an A/B run as a target would; return the (on, step) of every switch."""
    view.findChild(QSpinBox, "labPairs").setValue(pairs)
    view.findChild(QSpinBox, "labStepsPerBlock").setValue(steps)
    button(view, "autocast", "labToggleRun").click()
    session, switches, on = view._session, [], False
    for _ in range(1000):
        command = source.sent[-1]
        if command.meta["name"] == "toggle" and command.meta["id"] not in [c for c, *_ in switches]:
            on = command.meta["args"]["on"]
            switches.append((command.meta["id"], on, session.last_step + 1))
            source.reply(step=session.last_step + 1)
        step = session.last_step + 1
        source.waiting.append(
            step_frame(session, step, "autocast-bf16" if on else "", on_ms + step % 2 if on else off_ms)
        )
        session.pump()
        if not view._run.active:
            break
    return [(on, step) for _, on, step in switches]


def test_that_an_ab_run_alternates_in_blocks_and_leaves_it_as_it_was(view, source):
    switches = run_ab(view, source)
    assert [on for on, _ in switches] == [False, True, False, True, False, True, False]
    blocks = [b - a for (_, a), (_, b) in pairwise(switches)]
    assert min(blocks) >= 4
    assert "finished" in view.findChild(object, "labRunNote").text()
    assert button(view, "autocast", "labToggleRun").isEnabled()


def test_that_the_interleaved_comparison_names_the_faster_variant(view, source):
    run_ab(view, source, pairs=6)
    view.refresh()
    plain, fast = view.snapshot().rows
    assert plain.ratio is None
    assert fast.ratio.count == 6
    assert fast.ratio.value == pytest.approx(0.8, abs=0.02)
    assert fast.verdict == "faster"
    assert "less time than plain" in view.findChild(object, "labTable").model().index(1, 1).data()


def test_that_slower_is_said_to_be_slower(view, source):
    run_ab(view, source, pairs=6, on_ms=150)
    view.refresh()
    assert "slower here" in view.findChild(object, "labTable").model().index(1, 1).data()


def test_that_a_stopped_run_switches_back(view, source):
    button(view, "autocast", "labToggleRun").click()
    source.reply(step=5)
    view._session.pump()
    for step in range(5, 14):
        source.waiting.append(step_frame(view._session, step, ""))
    view._session.pump()
    assert commands(source)[-1][1]["on"] is True
    view.findChild(QPushButton, "labStop").click()
    assert commands(source)[-1][1]["on"] is False
    assert "stopped" in view.findChild(object, "labRunNote").text()


def test_that_a_lost_target_ends_the_run_and_says_so(view, source):
    button(view, "autocast", "labToggleRun").click()
    source.state = "lost"
    view._session.pump()
    assert "ended early" in view.findChild(object, "labRunNote").text()
    assert not button(view, "autocast", "labToggleSwitch").isEnabled()
    assert view.is_idle()


def test_that_a_recording_compares_and_says_why_nothing_can_be_switched(qtbot):
    view = LabView()
    qtbot.addWidget(view)
    view.set_session(sample_session())
    assert "recording" in view.findChild(object, "labMessage").text()
    assert [row.variant for row in view.snapshot().rows] == ["", "autocast-bf16"]
    assert [row.warm_up for row in view.snapshot().rows] == [2, 2]


def test_that_the_csv_holds_the_comparison(view, tmp_path):
    path = tmp_path / "lab.csv"
    view.export(path, "csv")
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == CSV_HEADER
    assert len(rows) == len(view.snapshot().rows) == 1


def test_that_texts_are_set_again_when_the_language_changes(view):
    stop = view.findChild(QPushButton, "labStop")
    stop.setText("")
    QApplication.sendEvent(view, QEvent(QEvent.Type.LanguageChange))
    assert stop.text()


def test_that_it_paints_at_any_size(view):
    for width, height in ((1400, 900), (700, 420), (300, 200)):
        view.resize(width, height)
        assert not view.grab().isNull()


def test_that_what_did_not_apply_before_the_first_step_is_asked_again(qtbot, source):
    view = LabView()
    qtbot.addWidget(view)
    session = fed(SessionModel("live", source), sample_frames(0))
    view.set_session(session)
    source.reply([{**OFFERED[0], "ok": False, "reason": "no model seen yet"}])
    session.pump()
    assert not button(view, "autocast", "labToggleSwitch").isEnabled()
    asked = len(source.sent)
    source.waiting += [step_frame(session, step, "") for step in range(3)]
    session.pump()
    assert len(source.sent) == asked + 1
    source.reply(OFFERED[:1])
    session.pump()
    assert button(view, "autocast", "labToggleSwitch").isEnabled()
    source.waiting += [step_frame(session, step, "") for step in range(3, 60)]
    session.pump()
    assert len(source.sent) == asked + 1


def test_that_choices_are_offered_and_those_refused_cannot_be_taken(view, source):
    box = row_of(view, "autocast").findChild(object, "labChoice_dtype")
    assert [box.itemText(i) for i in range(box.count())] == ["bfloat16", "float16"]
    assert [box.model().item(i).isEnabled() for i in range(2)] == [True, False]
    assert "CUDA" in box.itemData(1, Qt.ItemDataRole.ToolTipRole)
