"""`recover configs`: what ships with the program."""

import click


@click.command()
def command() -> None:
    """List the configs that ship with the program: name, number of trials, title and source.

    `recover sweep NAME` runs one, and `recover check NAME` says where its file is, to copy and change.
    """
    from recovery.config import load, shipped

    sweeps = [load(path) for path in shipped().values()]
    width = max((len(sweep.name) for sweep in sweeps), default=0)
    for sweep in sweeps:
        source = f"  ({sweep.source})" if sweep.source else ""
        click.echo(f"{sweep.name:{width}}  {sweep.size:>7} trials  {sweep.title}{source}")
