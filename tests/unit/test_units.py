import math

import pytest

from tensorscope.core.units import MISSING, format_bytes, format_ns


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (1536 * 1024, "1.50 MiB"),
        (12_884_901_888, "12.0 GiB"),
        (-2048, "−2.00 KiB"),
        (None, MISSING),
        (math.nan, MISSING),
    ],
)
def test_that_bytes_have_binary_prefixes(count, text):
    assert format_bytes(count) == text


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.00 µs"),
        (999_999, "1.00 ms"),
        (12_340_000, "12.3 ms"),
        (1.5e9, "1.50 s"),
        (-5e6, "−5.00 ms"),
        (math.inf, MISSING),
    ],
)
def test_that_durations_carry_three_digits_and_a_unit(duration, text):
    assert format_ns(duration) == text
