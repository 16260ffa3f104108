"""The command line: one file per command, and the handler of interrupts before a command starts."""

import os
from types import FrameType

INTERRUPTED = 75
"""Exit status, as for a sweep that stopped early."""
MESSAGE = b"stopped by SIGINT before the command started; run it again\n"


def leave(number: int, frame: FrameType | None) -> None:
    """End the process at once on a signal: compiled modules replace an exception during their import by another one."""
    os.write(2, MESSAGE)
    os._exit(INTERRUPTED)
