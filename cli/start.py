"""Entry point of `recover`: an interrupt while modules are imported ends it with a message and exit status 75."""

import gc
import signal
import sys
from io import TextIOWrapper

from . import leave


def main() -> None:
    """Run the program. A command installs its own handler of SIGINT when it starts."""
    # collect garbage rarely: imports leave none, and collecting takes a tenth of the start-up time
    gc.set_threshold(300_000, 20, 20)
    # a shell that runs the program with & has SIGINT ignored: leave it ignored
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)
    for stream in (sys.stdout, sys.stderr):  # a path may have characters that the terminal's encoding lacks
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    from .main import main as command

    try:
        command(prog_name="recover")
    finally:
        # exempt all objects from the garbage collection at exit, which takes a sixth of the time of a short command
        gc.freeze()
