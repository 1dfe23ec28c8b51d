"""The `tensorscope` command: one module a verb, each imported when it is asked for.

Exit codes: 0 all is well, 1 it failed and said why on standard error, 2 the command line is wrong;
`compare` alone has 3, a limit is exceeded.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from tensorscope.core.errors import TensorScopeError
from tensorscope.core.version import VERSION

OK, FAILED, USAGE = 0, 1, 2
VERBS = {
    "demo": "train a small model on this machine and look at it",
    "run": "run a training script and look at it",
    "attach": "look at a program that already runs with the agent in it",
    "open": "open session files",
    "report": "print what a session file holds",
    "compare": "compare two sessions or memory files, with limits for continuous integration",
    "export": "write a view of a session file as a picture or a table",
    "doctor": "check that this machine has what is needed",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    verb = next((word for word in arguments if word in VERBS), None)
    parser = _parser(verb)
    settings = parser.parse_args(arguments)
    try:
        return int(settings.run(settings))
    except TensorScopeError as error:
        print(f"tensorscope: {error}", file=sys.stderr)
        return FAILED
    except BrokenPipeError:  # whoever read what we print has had enough
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (flushed at exit, whatever is left)
        return OK
    except KeyboardInterrupt:
        print("tensorscope: stopped.", file=sys.stderr)
        return FAILED


def _parser(verb: str | None) -> argparse.ArgumentParser:
    """Return a parser that knows `verb` in full and the others by name, so that only one is imported."""
    parser = argparse.ArgumentParser(
        prog="tensorscope",
        description="See what a running PyTorch program really does. Without a verb: the window.",
    )
    parser.add_argument("--version", action="version", version=f"tensorscope {VERSION}")
    parser.add_argument("--reset-settings", action="store_true", help="start with fresh settings")
    parser.set_defaults(run=_window)
    verbs = parser.add_subparsers(title="verbs", metavar="VERB")
    for name, summary in VERBS.items():
        if name == verb:
            module = importlib.import_module(f"tensorscope.cli.{name}_command")
            command = verbs.add_parser(
                name,
                help=summary,
                description=f"{summary[0].upper()}{summary[1:]}.",
                epilog=module.EXAMPLES,
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            module.add_arguments(command)
            command.set_defaults(run=module.run)
        else:
            verbs.add_parser(name, help=summary)
    return parser


def _window(settings: argparse.Namespace) -> int:
    from tensorscope.cli.window import show_window

    return show_window(
        "tensorscope --help lists what works without one.", reset_settings=settings.reset_settings
    )
