"""Loads this package from where it lies, into a Python that knows nothing of it.

Nothing is put on ``sys.path``, so that no other package that lies beside ours gets in. Run as a
script, it runs another script with the agent in it (see `tensorscope.agent.run_script`).
"""

from __future__ import annotations

import importlib.util
import os
import sys
from types import ModuleType


def load_package(directory: str | None = None) -> ModuleType:
    """Import ``tensorscope`` from `directory` (where this file lies, if None), once."""
    if "tensorscope" in sys.modules:
        return sys.modules["tensorscope"]
    directory = directory or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    spec = importlib.util.spec_from_file_location(
        "tensorscope", os.path.join(directory, "__init__.py"), submodule_search_locations=[directory]
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["tensorscope"] = package
    spec.loader.exec_module(package)
    return package


def attach(address: str = "", record: str = "", level: str = "scope") -> None:
    """Start the agent in a program that runs already; for code that was brought in from outside."""
    load_package()
    from tensorscope.agent.after_torch import after_torch

    def begin() -> None:
        from tensorscope.agent.options import Options
        from tensorscope.agent.watch import start
        from tensorscope.core.handshake import read_token

        start(Options(address=address, record=record, level=level, token=read_token()))

    after_torch(begin)


if __name__ == "__main__":
    load_package()
    from tensorscope.agent.run_script import main

    main(sys.argv[1:])
