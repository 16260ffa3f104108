"""`recover merge`: folders of one sweep as one."""

from pathlib import Path

import click

from . import options


@click.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=options.FolderPath(), help="The folder that gets the rows of all.")
def command(results: tuple[Path, ...], out: Path) -> None:
    """Copy rows, records and rounds of RESULTS, folders of one sweep, into OUT. Changes nothing in RESULTS.

    \b
    recover sweep my.yaml --shard 1/2 --out first     # on one machine
    recover sweep my.yaml --shard 2/2 --out second    # on another
    recover merge first second --out results/my

    OUT may hold rows of the same sweep: they stay. A trial of several folders keeps its first row that is `ok`.
    After a kill, the same command goes on. Folders of another sweep are refused, with what differs.
    """
    from recovery.extras.merging import merge_folders
    from recovery.runner.sweep_status import sweep_status

    from .status import in_words

    for one in merge_folders(results, out):
        repeated = f", {one.repeated} of them there already" if one.repeated else ""
        click.echo(f"{one.path}: {one.trials} trials{repeated}")
        if one.other:
            click.echo(f"warning: {one.other} of them measured something else; the row that was there stays", err=True)
    click.echo(in_words(sweep_status(out)))
