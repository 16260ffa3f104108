"""`recover configs`: list the configs that ship with the program."""

import json

import click


@click.command()
@click.option("--forecast", is_flag=True, help="Time some trials of each config and forecast how long all take.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
def command(forecast: bool, as_json: bool) -> None:
    """List the configs that ship with the program: name, number of trials, title and source.

    `recover sweep NAME` runs a config. `recover check NAME` prints the path of its file, which you can copy and change.
    Configs that need a missing data file are listed last; `recover check NAME` describes that file.
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
    for sweep in sweeps:
        size = f"{sweep.size:>7} trials"
        if forecast:
            from recovery.runner.forecast import time_sweep  # imported here, because the forecast is slow to import

            click.echo(f"{sweep.name:{width}}  {size}  {time_sweep(sweep)}")
        else:
            click.echo(_line(sweep.name, size, sweep.title, sweep.source, width))
    for one in missing:
        click.echo(_line(one.name, "  needs a file", one.title, one.source, width))


def _line(name: str, size: str, title: str, source: str, width: int) -> str:
    return f"{name:{width}}  {size}  {title}{f'  ({source})' if source else ''}"
