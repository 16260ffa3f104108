"""`recover` from its first instruction: an interrupt while modules load ends it with a message and exit 75."""

import gc
import signal

from . import leave

gc.set_threshold(300_000, 20, 20)  # modules that load leave no garbage: looking for it is a tenth of the start


def main() -> None:
    """The program; a command takes SIGINT over when it begins."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # ignored where a shell runs it with &
        signal.signal(signal.SIGINT, leave)
    from .main import main as command

    try:
        command(prog_name="recover")
    finally:
        gc.freeze()  # Python looks through all that is left when it ends: a sixth of a short command
