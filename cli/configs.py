"""`recover configs`: list the configs that ship with the program."""

import json

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
def command(as_json: bool) -> None:
    """List the configs that ship with the program: name, number of trials, title and source.

    `recover sweep NAME` runs a config. `recover check NAME` prints the path of its file, which you can copy and change.
    """
    from recovery.config import load_shipped

    sweeps = load_shipped()
    if as_json:
        facts = [{"name": s.name, "trials": s.size, "title": s.title, "source": s.source} for s in sweeps]
        click.echo(json.dumps(facts))
        return
    width = max(len(sweep.name) for sweep in sweeps)
    for sweep in sweeps:
        source = f"  ({sweep.source})" if sweep.source else ""
        click.echo(f"{sweep.name:{width}}  {sweep.size:>7} trials  {sweep.title}{source}")
