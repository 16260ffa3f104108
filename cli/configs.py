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

    `recover sweep NAME` runs one, and `recover check NAME` says where its file is, to copy and change.
    """
    from recovery.config import load, shipped

    sweeps = [load(path) for path in shipped().values()]
    if as_json:
        facts = [{"name": s.name, "trials": s.size, "title": s.title, "source": s.source} for s in sweeps]
        click.echo(json.dumps(facts))
        return
    if forecast:
        _forecast(sweeps)
        return
    width = max((len(sweep.name) for sweep in sweeps), default=0)
    for sweep in sweeps:
        source = f"  ({sweep.source})" if sweep.source else ""
        click.echo(f"{sweep.name:{width}}  {sweep.size:>7} trials  {sweep.title}{source}")


def _forecast(sweeps: Iterable["Sweep"]) -> None:
    """A line a config, as each is known."""
    from recovery.runner.forecast import time_sweep
    from recovery.runner.progress import duration

    for sweep in sweeps:
        timing = time_sweep(sweep)
        click.echo(f"{sweep.name:20}{sweep.size:>7} trials  {duration(timing.seconds):>14} of one core, by {timing}")
