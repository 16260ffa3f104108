"""`recover index`: one page over all sweeps in a folder."""

from pathlib import Path

import click

from . import options


@click.command()
@click.argument("folder", type=options.FolderPath())
@click.option("--out", type=options.FolderPath(), help="Page to write.  [default: FOLDER/index.html]")
@click.option("--quiet", "-q", is_flag=True, help="Do not say on stderr which sweep is drawn.")
def command(folder: Path, out: Path | None, quiet: bool) -> None:
    """Write one HTML page over all sweeps in FOLDER and below: a picture, size, thresholds and claims of each.

    The page needs no network and no scripts. A sweep that cannot be read or drawn has a line that says why.
    """
    from recovery.extras.overview import entries
    from recovery.extras.overview_page import overview_page
    from recovery.report.formats import format_of, write

    format_of(out, "html", ("html",))
    place = folder / "index.html" if out is None else out / "index.html" if out.is_dir() else out
    drawn = entries(folder, lambda name: None if quiet else click.echo(name, err=True), place.parent)
    click.echo(write(place, overview_page(folder.resolve().name, drawn).encode()))
