"""The `recover` command: a table of commands, each imported only when it is called."""

import importlib
import os
import signal
import sys
from pathlib import Path

import click

from recovery import __version__
from recovery.errors import RecoverError
from recovery.text import did_you_mean

from . import INTERRUPTED, MESSAGE, leave
from .options import hold_blas

COMMANDS = {
    "bundle": "Pack a grid and its report into one archive.",
    "check": "Validate a config and say what it would run.",
    "compact": "Rewrite the part files of a grid as few.",
    "compare": "Compare grids cell by cell, on the same draws.",
    "configs": "List the configs that ship with the program.",
    "index": "Write one page over all sweeps in a folder.",
    "inspect": "Check the isometry conditions on your own matrix.",
    "merge": "Copy folders of one sweep into one folder.",
    "replay": "Run one stored trial again, and save what was drawn.",
    "reproduce": "Run the figures of the papers, and write their gallery.",
    "report": "Draw and tabulate stored grids.",
    "schema": "Print the JSON schema of a config, for editors.",
    "select": "Choose the columns of your own table that matter.",
    "status": "Count what is stored, and estimate what is left.",
    "submit": "Write a script that runs a sweep on a SLURM cluster.",
    "sweep": "Run the trials of a config that are not stored yet.",
    "trials": "List the stored trials that satisfy a condition.",
    "verify": "Replay a random sample of the stored trials.",
}
"""Module of this package, and the name of the command that is its attribute `command` -> one line of help."""
ONE_THREAD = ("check", "configs", "report", "reproduce", "status", "sweep")
"""Commands whose BLAS has one thread: trials fill the cores, and a command that only reads need not start any."""


class Failure(click.ClickException):
    """A `RecoverError` on its way to the user."""

    exit_code = 2


class Commands(click.Group):
    """Loads a command's module when it runs, so that `recover --help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in ONE_THREAD:
            hold_blas()
        command = importlib.import_module(f".{cmd_name}", __package__).command
        if signal.getsignal(signal.SIGINT) is leave:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        assert isinstance(command, click.Command)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["words"] = [*args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        hint = did_you_mean(args[0], COMMANDS)
        if hint and args[0] not in COMMANDS:
            ctx.fail(f"no such command {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        """The one place where the library's errors become messages; they exit with 2."""
        open_streams()
        words = ctx.meta["words"]
        try:
            Path.cwd()
            return super().invoke(ctx)
        except click.UsageError as error:
            if hint := _split_set(error.message, words):
                raise click.UsageError(error.message + hint, error.ctx) from error
            raise
        except RecoverError as error:
            raise Failure(str(error)) from error
        except BrokenPipeError:
            raise
        except OSError as error:
            what = error.filename or ("the current folder" if isinstance(error, FileNotFoundError) else "the system")
            raise Failure(f"{what}: {error.strerror or error}") from error
        except MemoryError as error:
            raise Failure("there is not enough memory; nothing that is stored has changed") from error
        except KeyboardInterrupt:
            click.echo(MESSAGE, nl=False, err=True)
            sys.exit(INTERRUPTED)


def _split_set(message: str, words: list[str]) -> str:
    """What `--set n 40` was meant as, where that is why a word is left over."""
    for option, path, value in zip(words, words[1:], words[2:], strict=False):
        if option == "--set" and "=" not in path and message.startswith("Got unexpected extra argument"):
            return f"; did you mean --set {path}={value}?"
    return ""


def open_streams() -> None:
    """Give a process that was started with closed standard streams open ones, so that no file becomes one of them."""
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            while (null := os.open(os.devnull, os.O_RDWR)) < number:
                pass
            if null > number:
                os.close(null)
            os.set_inheritable(number, True)  # worker processes write there, too
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="recover")
def main() -> None:
    """Phase transitions in neural-network recovery: run sweeps, draw their diagrams.

    \b
    recover sweep quickstart            run a config (a file, or the name of a shipped one)
    recover report results/quickstart   draw what is stored

    \b
    Completion of commands, options and config names, for bash (or zsh, fish):
    eval "$(_RECOVER_COMPLETE=bash_source recover)"
    """
