"""`recover configs`: what ships with the program."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from recovery.config import Sweep


@click.command()
@click.option("--forecast", is_flag=True, help="Time a few trials of each, and say how long all take.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
def command(forecast: bool, as_json: bool) -> None:
    """List the configs that ship with the program: name, number of trials, title and source.

    `recover sweep NAME` runs one, and `recover check NAME` says where its file is, to copy and change. One that needs a
    data file which is not there is listed last; `recover check NAME` says what the file must hold.
    """
    from recovery.config import load_shipped, shipped

    sweeps, missing = load_shipped()
    if as_json:
        facts: list[dict[str, object]] = [
            {"name": s.name, "trials": s.size, "title": s.title, "source": s.source} for s in sweeps
        ]
        facts += [{"name": s.name, "trials": None, "title": s.title, "source": s.source} for s in missing]
        click.echo(json.dumps(facts))
        return
    width = max(len(name) for name in shipped())
    if forecast:
        _forecast(sweeps, width)
    else:
        for sweep in sweeps:
            click.echo(_line(sweep.name, f"{sweep.size:>7} trials", sweep.title, sweep.source, width))
    for one in missing:
        click.echo(_line(one.name, "  needs a file", one.title, one.source, width))


def _line(name: str, size: str, title: str, source: str, width: int) -> str:
    return f"{name:{width}}  {size}  {title}{f'  ({source})' if source else ''}"


def _forecast(sweeps: Iterable["Sweep"], width: int) -> None:
    """A line a config, as each is known."""
    from recovery.runner.forecast import time_sweep
    from recovery.text import duration

    for sweep in sweeps:
        timing = time_sweep(sweep)
        took = f"{duration(timing.seconds):>14} of one core, by {timing}"
        click.echo(_line(sweep.name, f"{sweep.size:>7} trials", took, "", width))
