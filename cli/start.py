"""Entry point of `recover`: an interrupt while modules are imported ends it with a message and exit status 75."""

import gc
import signal

from . import leave

gc.set_threshold(300_000, 20, 20)  # imports leave no garbage, and collecting takes a tenth of the start-up time


def main() -> None:
    """Run the program. A command installs its own handler of SIGINT when it starts."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell that runs it with & ignores SIGINT
        signal.signal(signal.SIGINT, leave)
    from .main import main as command

    try:
        command(prog_name="recover")
    finally:
        gc.freeze()  # the collection at exit takes a sixth of the time of a short command
