"""Reads one foreign file in a process of its own: frames to standard output, progress to standard error.

    python -m tensorscope.readers FILE [--events A:B | --steps A:B | --ask]

A line of standard error is JSON: {"read": bytes} or {"stage": text} on the way, {"error": text} at the
end where it failed, with exit code 1. With --ask, {"choose": summary} of a large file waits for a line of
standard input: {"kind": "events" or "steps", "range": "A:B"}; anything else means all of it.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
from pathlib import Path
from typing import Any

from tensorscope.core.errors import TensorScopeError
from tensorscope.core.wire import encode
from tensorscope.readers.documents import load_document, read_document
from tensorscope.readers.frames import frames_of
from tensorscope.readers.selection import ASK_ABOVE, Selection, cut, summary

BYTES_A_FILE_BYTE = 40
"""How much memory a byte of the file may cost while it is read; packed files are larger than they look."""
LEAST_BYTES = 2 << 30


def main(argv: list[str]) -> int:
    """Read the file and return the exit code."""
    gc.disable()  # millions of containers that all stay, in a process that ends with them
    settings = _settings(argv)
    path: Path = settings.file
    try:
        _limit_memory(path)
        document = load_document(path, lambda done: _tell(read=done))
        file = read_document(document, lambda stage: _tell(stage=stage))
        del document
        wanted = settings.events or settings.steps
        if wanted is None and settings.ask and len(file.alloc.get("t_ns", ())) > ASK_ABOVE:
            wanted = _chosen(summary(file))
        if wanted is not None:
            cut(file, wanted)
        for frame in frames_of(file, str(path)):
            sys.stdout.buffer.write(encode(frame))
        sys.stdout.buffer.flush()
    except TensorScopeError as error:
        _tell(error=str(error))
        return 1
    except MemoryError:
        _tell(error="it needs more memory than a file of its size may. It is damaged, or hostile.")
        return 1
    except BrokenPipeError:
        return 1
    return 0


def _settings(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tensorscope.readers")
    parser.add_argument("file", type=Path)
    parser.add_argument("--events", type=lambda text: Selection.of(text, "events"))
    parser.add_argument("--steps", type=lambda text: Selection.of(text, "steps"))
    parser.add_argument("--ask", action="store_true")
    return parser.parse_args(argv)


def _chosen(found: dict[str, Any]) -> Selection | None:
    """Say how much there is, and wait for what is wanted of it: a line of JSON on standard input."""
    _tell(choose=found)
    try:
        answer = json.loads(sys.stdin.readline())
        return Selection.of(str(answer["range"]), str(answer["kind"]))
    except (ValueError, KeyError, TypeError):
        return None


def _limit_memory(path: Path) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise TensorScopeError(f"{error.strerror or error}.") from None
    limit = max(LEAST_BYTES, BYTES_A_FILE_BYTE * size)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or limit < hard:
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _tell(**said: Any) -> None:
    sys.stderr.write(json.dumps(said) + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
