"""`tensorscope report`: what a session file holds, for people and for programs."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tensorscope.cli.arguments import add_range, chosen_range
from tensorscope.core.errors import SessionFileError

EXAMPLES = """examples:
  tensorscope report run.tscope                 a summary
  tensorscope report run.tscope --json          the documented schema, see docs/report.md
  tensorscope report run.tscope --html run.html one self-contained page
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("file", type=Path, metavar="FILE", help="session file, memory snapshot or trace")
    add_range(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--what-if", action="store_true", help="replay other allocator settings, however long it takes"
    )
    form.add_argument("--html", type=Path, metavar="OUT", help="write a self-contained page")


def run(settings: argparse.Namespace) -> int:
    """Print or write the report."""
    from tensorscope.models.report import build_report, report_text
    from tensorscope.models.report_html import report_html
    from tensorscope.models.session_loading import load_session

    session = load_session(settings.file, wanted=chosen_range(settings))
    for problem in session.problems:
        print(f"tensorscope: {problem}", file=sys.stderr)
    report = build_report(session.store, True if settings.what_if else None)
    if settings.json:
        print(json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False))
    elif settings.html is not None:
        try:
            settings.html.write_text(report_html(report, {}), encoding="utf-8")
        except OSError as error:
            raise SessionFileError(f"Cannot write {settings.html}: {error.strerror}.") from None
    else:
        print(report_text(report))
    return 0
