"""`recover index`: write one page about all sweeps in a folder."""

from pathlib import Path

import click

from . import options


@click.command()
@click.argument("folder", type=options.FolderPath())
@click.option("--out", type=options.FolderPath(), help="Page to write.  [default: FOLDER/index.html]")
@click.option("--quiet", "-q", is_flag=True, help="Do not print the sweep that is being drawn to stderr.")
def command(folder: Path, out: Path | None, quiet: bool) -> None:
    """Write an HTML page about all sweeps in FOLDER and its subfolders: picture, size, thresholds and claims.

    The page needs no network. It groups sweeps by paper, filters them by text and sorts them. For a sweep that cannot
    be read or drawn, it gives the reason.
    """
    from recovery.extras.overview import entries, overview_page
    from recovery.report.formats import format_of, write

    format_of(out, "html", ("html",))
    place = folder / "index.html" if out is None else out / "index.html" if out.is_dir() else out
    drawn = entries(folder, lambda name: None if quiet else click.echo(name, err=True), place.parent)
    page = overview_page(folder.resolve().name, drawn).encode()
    click.echo(write(place, page, folder if out is None else None))
