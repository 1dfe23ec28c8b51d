import math

import numpy as np
import pytest

from tensorscope.models.lab_model import DEEP, FASTER, FEW, SAME, SLOWER, LabIntent, resolve
from tests.unit.models.test_steps_model import store_of


def blocks(*spec, level=None):
    """Return a store of (variant, milliseconds...) blocks."""
    ms = [time for _, *times in spec for time in times]
    variant = [name for name, *times in spec for _ in times]
    return store_of(ms, loss=np.arange(len(ms)), peak=np.arange(len(ms)), variant=variant, level=level)


def test_that_steps_after_a_switch_and_deep_steps_are_left_out_and_counted():
    level = [1] * 10
    level[5] = DEEP
    snapshot = resolve(blocks((0, 900, 800, 10, 10, 10), (1, 500, 400, 20, 20, 20), level=level), LabIntent())
    plain, other = snapshot.rows
    assert (plain.time_ms.value, plain.time_ms.count, plain.warm_up, plain.deep) == (10, 3, 2, 0)
    assert (other.time_ms.value, other.time_ms.count, other.warm_up, other.deep) == (20, 3, 1, 1)
    assert snapshot.chart_used.tolist() == [False] * 2 + [True] * 3 + [False] * 2 + [True] * 3
    assert (plain.peak_bytes, plain.loss) == (4, 3)


def test_that_a_drift_common_to_both_is_no_difference():
    spec = []
    for block in range(13):
        scale = 1.3**block
        spec.append((block % 2, *[100 * scale] * 5))
    other = resolve(blocks(*spec), LabIntent()).rows[1]
    assert other.ratio.count == 6
    assert other.ratio.value == pytest.approx(1.0)
    assert other.time_ms.value > 110


@pytest.mark.parametrize(("factor", "verdict"), [(0.7, FASTER), (1.4, SLOWER), (1.0, SAME)])
def test_that_the_verdict_is_what_the_interval_allows(factor, verdict):
    rng = np.random.default_rng(5)
    spec = [
        (block % 2, *(100 * (factor if block % 2 else 1) * rng.lognormal(0, 0.05, 6))) for block in range(21)
    ]
    assert resolve(blocks(*spec), LabIntent()).rows[1].verdict == verdict


def test_that_one_block_after_another_is_too_few_to_tell():
    row = resolve(blocks((0, *[10] * 30), (1, *[5] * 30)), LabIntent()).rows[1]
    assert (row.verdict, row.ratio.count) == (FEW, 1)
    assert row.ratio.value == pytest.approx(0.5)
    assert not row.ratio.known


def test_that_a_variant_never_beside_plain_has_no_ratio():
    store = blocks((0, *[10] * 5), (1, *[5] * 5))
    store.strings.append("other")
    table = store.tables["step"]
    table["variant"][:5] = 2
    rows = resolve(store, LabIntent()).rows
    assert all(row.ratio.count == 0 and math.isnan(row.ratio.value) for row in rows)
    assert all(row.verdict == FEW for row in rows)


def test_that_only_steps_from_the_first_on_are_compared():
    store = blocks((0, *[10] * 5), (1, *[5] * 5), (0, *[30] * 5))
    rows = resolve(store, LabIntent(first_step=10)).rows
    assert [row.variant for row in rows] == [""]
    assert rows[0].time_ms.value == 30


def test_that_nothing_measured_is_an_empty_comparison():
    assert resolve(store_of([]), LabIntent()).rows == ()
