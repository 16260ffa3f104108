"""`recover check`: validate a config and say what it would run."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from . import completion, options

if TYPE_CHECKING:
    from recovery.config import Sweep


@click.command()
@options.config
@click.option(
    "--set",
    "overrides",
    metavar="PATH=VALUE",
    multiple=True,
    shell_complete=completion.overrides,
    help="Override a field of the config; repeatable.",
)
@click.option("--forecast", is_flag=True, help="Time a few trials, and say how long all will take.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(config: str, overrides: tuple[str, ...], forecast: bool, as_json: bool) -> None:
    """Validate CONFIG and say what it would run: axes, cells, trials, and where its results go.

    CONFIG is a YAML file or the name of a shipped config (`recover configs`). Nothing is written, and without
    --forecast nothing is run. Exit status: 0 the config is valid, 2 it is not; then every error is listed with its
    position.
    """
    from recovery.config import find
    from recovery.runner.own_code import load
    from recovery.text import duration

    sweep = load(config, overrides)
    options.say_memory(sweep)
    timing = None
    if forecast:
        from recovery.runner.forecast import time_sweep

        timing = time_sweep(sweep)
    if as_json:
        facts = {"name": sweep.name, "title": sweep.title, "source": sweep.source, "axes": sweep.axes}
        more: dict[str, float] = {"cells": len(sweep.cells), "trials": sweep.size, "claims": len(sweep.claims)}
        if timing is not None:
            more["seconds"] = timing.seconds
        click.echo(json.dumps({"file": str(find(config)), **facts, **more}))
        return
    lines = [("file", str(find(config))), ("name", sweep.name), ("title", sweep.title), ("source", sweep.source)]
    lines += [("axis", line) for line in _axes(sweep)]
    lines += [
        ("cells", f"{len(sweep.cells)}"),
        ("trials", _trials(sweep)),
        ("memory", _memory(sweep)),
        ("time", "" if timing is None else f"about {duration(timing.seconds)} of one core, by {timing}"),
        ("claims", f"{len(sweep.claims)}"),
        ("results", f"results/{sweep.name}"),
    ]
    for label, text in lines:
        if text:
            click.echo(f"{label:8} {text}")


def _trials(sweep: "Sweep") -> str:
    from recovery.config import Boundary, Until

    each = f"{sweep.replicates} replicate{'s' * (sweep.replicates > 1)} of each cell"
    if isinstance(sweep.sampling, Boundary):
        more, rounds = sweep.size - sweep.replicates * len(sweep.cells), sweep.sampling.rounds - 1
        each += f", then {more} in {rounds} round{'s' * (rounds > 1)} where the transition along n is uncertain"
    if isinstance(sweep.sampling, Until):
        each += f", then more until {sweep.sampling.rule}, at most {sweep.sampling.ceiling} times as many"
    return f"{sweep.size} ({each})"


def _memory(sweep: "Sweep") -> str:
    from recovery.config.checks import in_bytes

    n, d = sweep.cells.largest
    return f"X of the largest cell, n = {n} and d = {d}, takes {in_bytes(8 * n * d)}"


def _axes(sweep: "Sweep") -> Iterator[str]:
    """`n: 10 .. 400 (40 values)` for each axis; a value that a cell does not have is left out."""
    for axis in sweep.axes:
        shown = [str(value) for value in sweep.cells.coordinates[axis].distinct if value is not None]
        text = ", ".join(shown) if len(shown) <= 6 else f"{shown[0]} .. {shown[-1]} ({len(shown)} values)"
        yield f"{axis}: {text}"
