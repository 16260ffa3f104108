"""Run `recover` as `python -m recovery.cli`."""

import sys

if not sys.flags.safe_path:  # the current folder may be someone else's: its modules must not hide those of Python
    sys.path.append(sys.path.pop(0))

from .start import main

main()
