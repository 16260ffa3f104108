"""`recover merge`: copy folders of one sweep into one folder."""

from pathlib import Path

import click

from . import options


@click.command()
@click.argument("results", nargs=-1, required=True, type=options.FolderPath())
@click.option("--out", required=True, type=options.FolderPath(), help="Folder for all rows.")
def command(results: tuple[Path, ...], out: Path) -> None:
    """Copy rows, training records and sampling rounds of RESULTS, folders of one sweep, into OUT.

    \b
    recover sweep my.yaml --shard 1/2 --out first     # on one machine
    recover sweep my.yaml --shard 2/2 --out second    # on another
    recover merge first second --out results/my

    OUT may already hold rows of the same sweep, which are kept. If several folders have a row of a trial, one with
    status `ok` counts. After a kill, the same command continues. Folders of another config are refused, with the fields
    that differ.
    """
    from recovery.extras.merging import merge_folders
    from recovery.runner.sweep_status import sweep_status

    from .status import status_text

    for path, trials in merge_folders(results, out).items():
        click.echo(f"{path}: {trials} trials")
    click.echo(status_text(sweep_status(out)))
