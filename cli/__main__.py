"""Run `recover` as `python -m recovery.cli`."""

import sys

# search the current folder last: it may belong to someone else, and its modules must not hide those of Python
if not sys.flags.safe_path:
    sys.path.append(sys.path.pop(0))

from .start import main

main()
