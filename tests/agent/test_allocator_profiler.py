"""The recorder against torch.profiler: twin processes, same seed, the same step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tensorscope.agent.capture.recorder_build import build_library

ROOT = Path(__file__).parents[2]


def start(who: str, case: str, foreach: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.agent.allocator_twin", who, case, foreach]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize(
    ("case", "foreach"), [("mlp", "foreach"), ("conv", "single"), ("gpt-checkpointed", "foreach")]
)
def test_that_a_step_is_what_the_profiler_reports_and_the_frees_it_cannot_know(
    case: str, foreach: str
) -> None:
    """Every event of the profiler, in order; on top of them only frees of blocks older than its start."""
    build_library()
    twins = [start(who, case, foreach) for who in ("recorder", "profiler")]
    (ours_text, our_errors), (theirs_text, their_errors) = [twin.communicate(timeout=120) for twin in twins]
    assert [twin.returncode for twin in twins] == [0, 0], our_errors + their_errors
    ours, theirs = json.loads(ours_text), json.loads(theirs_text)
    assert len(theirs) > 50
    assert [delta for delta, young in ours if young] == [delta for delta, _ in theirs]
    assert all(delta < 0 for delta, young in ours if not young)
    assert any(not young for _, young in ours)
    assert our_errors == "", "the recorder writes nothing to the program's stderr"
