"""The `recover` command: a table of commands, each of which is imported when it is called."""

import importlib
import os
import re
import signal
import sys
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit

import click

from recovery import __version__
from recovery.compiled import NUMBA_SETTINGS, import_away_from
from recovery.errors import RecoverError
from recovery.text import did_you_mean, path_text

from . import INTERRUPTED, MESSAGE, leave

SECTIONS = {
    "Run": {
        "configs": "List the configs that ship with the program.",
        "check": "Validate a config and print what it would run.",
        "sweep": "Run the trials of a config that are not stored yet.",
        "status": "Count stored trials, and estimate the time left.",
        "submit": "Write a script that runs a sweep on a SLURM cluster.",
    },
    "Look": {
        "report": "Draw and tabulate results folders.",
        "trials": "List the stored trials that satisfy a condition.",
        "compare": "Compare results folders, or the values of an axis.",
    },
    "Check": {
        "verify": "Replay a random sample of the stored trials.",
        "replay": "Run one trial again, and save its instance.",
        "certificate": "Compute one trial's weights, dual and certificate.",
    },
    "Maintenance": {
        "merge": "Copy folders of one sweep into one folder.",
        "compact": "Rewrite the part files of a results folder as few.",
    },
    "Papers": {"reproduce": "Run the figures of the papers, and write a gallery."},
}
"""Section of the help -> (name of a command, and of its module -> its line of help)."""
COMMANDS = {name: words for section in SECTIONS.values() for name, words in section.items()}
ONE_THREAD = ("check", "configs", "report", "reproduce", "status", "sweep")
"""Commands with one BLAS thread: trials use all cores, and commands that only read need no threads."""


class Failure(click.ClickException):
    """A `RecoverError` as an error of click, with exit status 2."""

    exit_code = 2


class Commands(click.Group):
    """Group that imports a command's module when the command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in ONE_THREAD:  # before NumPy is imported; a number that the user sets stays
            for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
                os.environ.setdefault(variable, "1")
        for settings, library in ((NUMBA_SETTINGS, "numba"), ("matplotlibrc", "matplotlib")):
            import_away_from(settings, library)
        command = importlib.import_module(f".{cmd_name}", __package__).command
        if signal.getsignal(signal.SIGINT) is leave:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        hint = did_you_mean(args[0], COMMANDS)
        if hint and args[0] not in COMMANDS:
            ctx.fail(f"no such command {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), words) for name, words in commands.items()])

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; errors of the library become messages with exit status 2."""
        open_streams()
        try:
            Path.cwd()
            return super().invoke(ctx)
        except RecoverError as error:
            raise Failure(str(error)) from error
        except BrokenPipeError:
            raise
        except (OSError, ImportError, RuntimeError, MemoryError) as error:
            limited = getrlimit(RLIMIT_AS)[0] != RLIM_INFINITY and re.search("shared object|new thread", str(error))
            if isinstance(error, MemoryError) or limited:
                if server := sys.modules.get("recovery.runner.server"):
                    server.stop_server()  # OpenBLAS may try to start in it forever
                why = str(error).strip().rpartition("\n")[2] or "no room"
                raise Failure(f"there is not enough memory, or `ulimit -v` allows too little: {why}") from error
            if not isinstance(error, OSError):
                raise
            what = error.filename or ("the current folder" if isinstance(error, FileNotFoundError) else "the system")
            raise Failure(f"{path_text(what)}: {error.strerror or error}") from error
        except KeyboardInterrupt:
            click.echo(MESSAGE, nl=False, err=True)
            sys.exit(INTERRUPTED)


def open_streams() -> None:
    """Open standard streams that are closed on the null device, so that no file opened later becomes one of them."""
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            while (null := os.open(os.devnull, os.O_RDWR)) < number:
                pass
            if null > number:
                os.close(null)
            os.set_inheritable(number, True)  # inherited, because worker processes write to this stream, too
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="recover")
def main() -> None:
    """Study phase transitions in neural-network recovery: run sweeps and draw their diagrams.

    \b
    recover configs                     list the figures that ship with the program
    recover sweep quickstart            run a config: a file, or the name of a shipped config
    recover report results/quickstart   draw the stored rows

    \b
    Completion of commands, options and config names, for bash (or zsh, fish):
    eval "$(_RECOVER_COMPLETE=bash_source recover)"
    """
