"""The part of a large file that a person chooses."""

from tensorscope.app.range_dialog import RangeDialog

SUMMARY = {"events": 5_000_000, "seconds": 12.5, "first_step": 3, "last_step": 90, "ordered": "time"}


def test_that_all_is_the_default_and_a_changed_number_chooses_its_kind(qtbot):
    dialog = RangeDialog("big.pickle", SUMMARY)
    qtbot.addWidget(dialog)
    assert dialog.choice() is None
    dialog.last_event.setValue(1000)
    assert dialog.choice() == ("events", "0:1000")
    dialog.first_step.setValue(10)
    assert dialog.choice() == ("steps", "10:90")
    dialog.all.setChecked(True)
    assert dialog.choice() is None


def test_that_steps_cannot_be_chosen_where_there_are_none(qtbot):
    dialog = RangeDialog("big.pickle", {**SUMMARY, "first_step": None, "last_step": None})
    qtbot.addWidget(dialog)
    assert not dialog.some_steps.isEnabled()
