"""`recover bundle`: pack a results folder into a zip archive."""

import zipfile
from io import BytesIO
from pathlib import Path

import click

from . import options

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every entry, so that equal folders give equal archives."""


@click.command()
@options.results
@click.option("--out", type=options.FolderPath(dir_okay=False), help="Archive to write.  [default: NAME.zip]")
def command(results: Path, out: Path | None) -> None:
    """Pack RESULTS into an archive that unpacks to a results folder of the same name.

    Links and hidden files are left out. The archive has what is in the folder: run `recover report` first to include
    figures, and copy user code into the folder to pass it on.
    """
    from recovery.report.formats import format_of, write
    from recovery.store import read

    format_of(out, "zip", ("zip",))
    name = read(results).path.resolve().name
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(results.rglob("*")):
            inner = path.relative_to(results)
            steps = [results / step for step in (inner, *inner.parents)][:-1]
            if path.is_file() and not any(step.is_symlink() or step.name.startswith(".") for step in steps):
                entry = zipfile.ZipInfo(f"{name}/{inner.as_posix()}", EPOCH)
                file.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    click.echo(write(out or Path(f"{name}.zip"), archive.getvalue()))
