"""The command line: one file a command, no mathematics; and how it ends when it is interrupted before any has begun."""

import os
from types import FrameType

INTERRUPTED = 75
"""As a sweep that stopped early."""
MESSAGE = b"stopped by SIGINT before anything was begun; run the same command again\n"


def leave(number: int, frame: FrameType | None) -> None:
    """End at once: an exception would become another one inside a compiled module."""
    os.write(2, MESSAGE)
    os._exit(INTERRUPTED)
