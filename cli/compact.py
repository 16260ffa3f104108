"""`recover compact`: rewrite the part files as few files."""

from pathlib import Path

import click

from . import options


@click.command()
@options.results
def command(results: Path) -> None:
    """Rewrite the part files of RESULTS as few files. This is safe while sweeps write and reports read them."""
    from recovery.store.compaction import compact
    from recovery.store.folder import Folder

    folder = Folder(results)
    folder.load()
    before, after = compact(folder)
    click.echo(f"{results}: {before} part files before, {after} after")
