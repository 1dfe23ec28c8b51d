"""``python -m tensorscope``: the same as the command."""

import sys

from tensorscope.cli import main

if __name__ == "__main__":
    sys.exit(main())
