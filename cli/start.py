"""`recover` from its first instruction: an interrupt while modules load ends it with a message and exit 75."""

import os
import signal
from types import FrameType

INTERRUPTED = 75
"""As a sweep that stopped early."""
MESSAGE = b"stopped by SIGINT before anything was begun; run the same command again\n"


def main() -> None:
    """The program; a command takes SIGINT over when it begins."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # ignored where a shell runs it with &
        signal.signal(signal.SIGINT, leave)
    from .main import main as command

    command(prog_name="recover")


def leave(number: int, frame: FrameType | None) -> None:
    """End at once: an exception would become another one inside a compiled module."""
    os.write(2, MESSAGE)
    os._exit(INTERRUPTED)
