"""`tensorscope export`: a view of a session file as a picture or a table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tensorscope.cli.arguments import add_range, chosen_range
from tensorscope.core.errors import DataError, SessionFileError

if TYPE_CHECKING:
    from tensorscope.models.session_model import SessionModel

VIEWS = ("steps", "memory", "memory_details", "graph", "tensor", "lab", "findings")
PANELS = ("map", "peaks", "leaks", "saved", "state", "verdicts", "fit", "compare", "blocks")
DATA = ("events", "blocks", "perfetto")
FORMATS = ("png", "svg", "csv", "pdf", "dot", "json")
EXAMPLES = """examples:
  tensorscope export run.tscope --view memory --format svg --out memory.svg
  tensorscope export run.tscope --view tensor --format csv --out tensors.csv
  tensorscope export oom.pickle --view memory_details --panel verdicts --format csv --out verdicts.csv
  tensorscope export run.tscope --view graph --expand depth:2 --format pdf --out graph.pdf
  tensorscope export run.tscope --data perfetto --out run.json.gz
  tensorscope export run.tscope --view tensor --format png --out q.png --select blocks.0.attn.qkv.weight
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.set_defaults(parser=parser)
    parser.add_argument("file", type=Path, metavar="FILE", help="session file, memory snapshot or trace")
    add_range(parser)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--view", choices=VIEWS, help="a view, as the window shows it")
    what.add_argument(
        "--data", choices=DATA, help="events, blocks: all of them as CSV; perfetto: a trace (.json, .json.gz)"
    )
    parser.add_argument("--panel", choices=PANELS, help="of --view memory_details (default: the first)")
    parser.add_argument("--format", choices=FORMATS, help="of --view; pdf, dot, json: the graph only")
    parser.add_argument(
        "--expand", metavar="WHAT", help="of the graph: all, none, depth:N or a module's path"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="PATH", help="file to write")
    parser.add_argument("--theme", choices=("light", "dark"), default="light")
    parser.add_argument("--select", metavar="TENSOR", help="name of the tensor to select")
    parser.add_argument("--step", type=int, help="the step to show (default: the last; memory: all)")


def run(settings: argparse.Namespace) -> int:
    """Write the view with the same code as the window's menu."""
    from tensorscope.app.session_outputs import Showing, export_view
    from tensorscope.models.selection import Selection
    from tensorscope.models.session_loading import load_session

    if settings.view is not None and settings.format is None:
        settings.parser.error("--view needs --format: one of " + ", ".join(FORMATS))
    session = load_session(settings.file, wanted=chosen_range(settings))
    for problem in session.problems:
        print(f"tensorscope: {problem}", file=sys.stderr)
    if settings.data is not None:
        _write_data(session, settings.data, settings.out)
        return 0
    if settings.step is not None:
        if settings.step not in session.store.tables["step"]["step"]:
            raise DataError(f"{settings.file} has no step {settings.step}: its last is {session.last_step}.")
        session.go_to_step(settings.step)
    if settings.select is not None:
        if settings.select not in _tensor_names(session):
            raise DataError(
                f"{settings.file} has no tensor {settings.select!r}: see --view tensor --format csv."
            )
        session.select(Selection(tensor=settings.select))
    everything = settings.step is None
    showing = Showing(settings.panel, everything, settings.expand)
    export_view(session, settings.view, settings.format, settings.out, settings.theme, showing)
    return 0


def _write_data(session: SessionModel, data: str, path: Path) -> None:
    from tensorscope.models.data_files import write_data

    try:
        write_data(session.store, data, path)
    except OSError as error:
        raise SessionFileError(f"Cannot write {path}: {error.strerror or error}.") from None


def _tensor_names(session: SessionModel) -> set[str]:
    records = session.store.records("tensors")
    return {session.store.string(int(number)) for record in records for number in record.columns["name"]}
