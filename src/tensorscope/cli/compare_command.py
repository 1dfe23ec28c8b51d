"""`tensorscope compare`: two sessions or files, for people and for continuous integration."""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorscope.compute.session_diff import Difference
    from tensorscope.models.comparison import Comparison

EXCEEDED = 3
EXAMPLES = """examples:
  tensorscope compare before.tscope after.tscope
  tensorscope compare main.tscope branch.tscope --max-peak +5% --max-step-time +10%
  tensorscope compare run.tscope run.tscope --variant-a "" --variant-b autocast-bf16 --json

exit codes: 0 within every limit, 1 a file cannot be read, 2 the command line is wrong,
            3 a limit is exceeded (each is printed on standard error)
"""
_UNITS = {"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_LIMIT = re.compile(r"^\+?(?P<number>\d+(\.\d+)?)\s*(?P<unit>%|[kmg]ib|b|)$", re.IGNORECASE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("a", type=Path, metavar="A", help="session, snapshot or trace: the reference")
    parser.add_argument("b", type=Path, metavar="B", help="session, snapshot or trace: what is judged")
    parser.add_argument("--json", action="store_true", help="print JSON, see docs/compare.md")
    parser.add_argument("--steps", type=_steps, metavar="FIRST:LAST", help="compare only these steps")
    parser.add_argument("--variant-a", metavar="TOGGLES", help='toggle state of A; "" is the plain program')
    parser.add_argument("--variant-b", metavar="TOGGLES", help="toggle state of B")
    parser.add_argument("--max-peak", type=_limit, metavar="+5%|+100MiB", help="most that the peak may rise")
    parser.add_argument(
        "--max-step-time", type=_limit, metavar="+10%", help="most that the step time may rise"
    )
    parser.add_argument("--max-growth", type=_bytes, metavar="BYTES", help="most that B may grow a step")
    parser.add_argument(
        "--max-reserved-ratio", type=float, metavar="R", help="most reserved over peak bytes in B"
    )


def run(settings: argparse.Namespace) -> int:
    """Compare, print, judge."""
    from tensorscope.models.comparison import Side, compare
    from tensorscope.models.session_loading import load_session

    sides = []
    for path, variant in ((settings.a, settings.variant_a), (settings.b, settings.variant_b)):
        session = load_session(path)
        for problem in session.problems:
            print(f"tensorscope: {problem}", file=sys.stderr)
        name = path.name if variant is None else f"{path.name} ({variant or 'plain'})"
        sides.append(Side(session.store, name, variant, settings.steps))
    found = compare(*sides)
    exceeded = limits_exceeded(found, settings)
    if settings.json:
        print(
            json.dumps(
                {**found.as_json(), "exceeded": exceeded}, indent=2, ensure_ascii=False, allow_nan=False
            )
        )
    else:
        print(comparison_text(found))
    for text in exceeded:
        print(f"tensorscope: {text}", file=sys.stderr)
    return EXCEEDED if exceeded else 0


def limits_exceeded(found: Comparison, settings: argparse.Namespace) -> list[str]:
    """Return a sentence for each limit that B exceeds; a number that is not known exceeds its limit."""
    wrong = []
    for option, name, what in (
        (settings.max_peak, "peak_bytes", "peak"), (settings.max_step_time, "step_ms", "step time"),
    ):  # fmt: skip
        if option is not None and not _within(found.total(name), option):
            one = found.total(name)
            wrong.append(f"the {what} rises from {one.a:,.6g} to {one.b:,.6g}, more than {option[2]} allows.")
    growth = found.total("growth_bytes_per_step").b
    if settings.max_growth is not None and not growth <= settings.max_growth:
        wrong.append(f"live bytes grow by {growth:,.0f} a step, more than {settings.max_growth:,}.")
    ratio = found.total("reserved_ratio").b
    if settings.max_reserved_ratio is not None and not ratio <= settings.max_reserved_ratio:
        wrong.append(f"reserved is {ratio:.3g} of the peak, more than {settings.max_reserved_ratio:g}.")
    return wrong


def _within(one: Difference, limit: tuple[float, float, str]) -> bool:
    allowed = one.a * (1 + limit[0]) + limit[1]
    return one.b <= allowed


def comparison_text(found: Comparison) -> str:
    """Return a table of a few lines."""
    from tensorscope.core.units import format_bytes

    lines = [
        f"A  {found.name_a}: {found.steps_a} steps ({found.left_out_a} left out: warm-up, deep)",
        f"B  {found.name_b}: {found.steps_b} steps ({found.left_out_b} left out)",
        f"{'':34}{'A':>12}{'B':>12}{'B - A':>13}",
    ]
    known = [one for one in found.totals if math.isfinite(one.a) or math.isfinite(one.b)]
    lines += [
        _line(one.name.replace("_", " "), one, format_bytes if "bytes" in one.name else _plain)
        for one in known
    ]
    for title, rows in (
        ("categories at the peak", found.categories),
        (f"{found.modules_are}s", found.modules[:12]),
    ):
        lines.append(f"{title}:")
        lines += [_line(f"  {one.name}", one, format_bytes) for one in rows if one.a or one.b]
    return "\n".join(lines)


def _line(name: str, one: Difference, show: Callable[[float], str]) -> str:
    def text(value: float) -> str:
        return (
            "–" if not math.isfinite(value) else str(show(abs(value)) if value >= 0 else f"-{show(-value)}")
        )

    sign = "+" if one.delta > 0 else ""
    by_chance = math.isfinite(one.delta) and one.delta != 0 and math.isfinite(one.noise) and not one.is_real
    real = "  (within noise)" if by_chance else ""
    short = name if len(name) <= 33 else f"{name[:14]}…{name[-18:]}"
    return f"{short:34}{text(one.a):>12}{text(one.b):>12}{sign + text(one.delta):>13}{real}"


def _plain(value: float) -> str:
    return f"{value:.4g}"


def _steps(text: str) -> tuple[int, int]:
    first, _, last = text.partition(":")
    if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
        raise argparse.ArgumentTypeError(f"{text!r} is no range like 10:50")
    return int(first), int(last)


def _limit(text: str) -> tuple[float, float, str]:
    match = _LIMIT.match(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a share like +5% nor a size like +100MiB")
    number, unit = float(match["number"]), match["unit"].lower()
    return (number / 100, 0.0, text) if unit == "%" else (0.0, number * _UNITS[unit], text)


def _bytes(text: str) -> int:
    match = _LIMIT.match(text.strip())
    if match is None or match["unit"] == "%":
        raise argparse.ArgumentTypeError(f"{text!r} is no size like 4096 or 1MiB")
    return int(float(match["number"]) * _UNITS[match["unit"].lower()])
