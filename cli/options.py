"""Options and kinds of values that several commands have."""

import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recovery.text import is_plain

from . import completion

if TYPE_CHECKING:
    from recovery.config import Sweep
    from recovery.store import Grid

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
LONGEST = 366 * 86_400.0
"""Seconds; a timer takes no more than some hundred years, and no sweep is meant to."""


def hold_blas() -> None:
    """One BLAS thread a process, unless the user says otherwise. Call it before NumPy loads."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def say_left_out(grid: "Grid") -> None:
    """Say on stderr which rows are not the sweep's."""
    if grid.left_out:
        click.echo(grid.left_out, err=True)


def say_edited(grid: "Grid") -> None:
    """Say on stderr how many rows ran other code of the user's than there is now."""
    from recovery.runner.sweep_status import edited

    if words := edited(grid):
        click.echo(words, err=True)


def say_memory(sweep: "Sweep") -> None:
    """Warn on stderr where X of the largest cell does not fit into this machine's memory."""
    from recovery.config.checks import in_bytes

    n, d = sweep.cells.largest
    needed, there = 8 * n * d, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > there:
        words = f"X of the largest cell, n = {n} and d = {d}, takes {in_bytes(needed)}"
        click.echo(f"warning: {words}; this machine has {in_bytes(there)} of memory", err=True)


class FolderPath(click.Path):
    """A path whose name can be shown and written into a script: UTF-8, without control characters."""

    def __init__(self, *, dir_okay: bool = True) -> None:
        super().__init__(path_type=Path, dir_okay=dir_okay)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if not is_plain(str(value)) or "\n" in str(value):
            self.fail(f"{str(value)!a} has control characters, or is not UTF-8; give another path", param, ctx)
        path: Path = super().convert(value, param, ctx)  # type: ignore[arg-type, assignment]
        return path


class Seconds(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """A time: a number of seconds, or one with a unit, as 90, 30m, 2h, 1d."""

    name = "TIME"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d*)?(?:e[-+]?\d+)?|\.\d+)\s*([a-z]*)", str(value).strip().lower())
        if not match or match[2] not in UNITS:
            self.fail(f"{value!r} is no time, as 90, 30m, 2h or 1d", param, ctx)
        seconds = float(match[1]) * UNITS[match[2]]
        if not 0 < seconds <= LONGEST or not math.isfinite(seconds):
            self.fail(f"{value!r} is not between 0 and 366 days", param, ctx)
        return seconds


config = click.argument("config", shell_complete=completion.configs)
results = click.argument("results", type=FolderPath())
out = click.option("--out", type=FolderPath(), help="Results folder.  [default: results/NAME]")
trust = click.option(
    "--trust", is_flag=True, help="Run the code of its author's own that RESULTS names; only if you know who that is."
)
