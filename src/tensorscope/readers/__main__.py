"""Reads one foreign file in a process of its own: frames to standard output, progress to standard error.

    python -m tensorscope.readers FILE

A line of standard error is JSON: {"read": bytes} or {"stage": text} on the way, {"error": text} at the
end where it failed, with exit code 1.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any

from tensorscope.core.errors import TensorScopeError
from tensorscope.core.wire import encode
from tensorscope.readers.documents import load_document, read_document
from tensorscope.readers.frames import frames_of

BYTES_A_FILE_BYTE = 40
"""How much memory a byte of the file may cost while it is read; packed files are larger than they look."""
LEAST_BYTES = 2 << 30


def main(argv: list[str]) -> int:
    """Read the file and return the exit code."""
    path = Path(argv[0])
    try:
        _limit_memory(path)
        document = load_document(path, lambda done: _tell(read=done))
        file = read_document(document, lambda stage: _tell(stage=stage))
        del document
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
