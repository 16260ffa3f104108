"""`recover compare`: compare results folders, or the values of an axis, with intervals."""

from pathlib import Path
from typing import Any

import click

from . import options


@click.command()
@click.argument("results", nargs=-1, required=True, type=options.FolderPath())
@click.option("--by", metavar="AXIS", help="Compare the values of this axis within one folder.")
@click.option("--value", metavar="COLUMN", help="Value to compare: a measured column, or COLUMN<=NUMBER.")
@click.option(
    "--most", type=click.IntRange(0), default=20, show_default=True, metavar="N", help="Rows to list of each table."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--out", type=options.FolderPath(), help="Write the table (.csv) or everything (.json).")
def command(results: tuple[Path, ...], most: int, as_json: bool, out: Path | None, **asked: Any) -> None:
    """Compare each results folder with the first one, or the values of an axis within one folder.

    Differences per cell, per slice and overall, and of thresholds, have 95 % intervals. Trials with the same draws are
    compared pair by pair.

    \b
    recover compare results/gated results/exact
    recover compare results/sensing --by method
    recover compare results/gated results/exact results/trained --json
    recover compare results/a results/b --value test_distance
    recover compare results/a results/b --out differences.csv
    """
    from recovery.errors import ReportError
    from recovery.extras.compare import compare
    from recovery.report.formats import COMPARISON, format_of, write
    from recovery.report.texts import csv_text
    from recovery.store import read

    kind = format_of(out, None, COMPARISON)
    if out is not None and kind is None:
        raise ReportError(f"{out}: unknown file name ending; allowed: .{', .'.join(COMPARISON)}")
    grids = [read(path) for path in results]
    for grid in grids:
        options.warn_rows(grid)
    compared = compare(*grids, **asked)
    click.echo(compared.as_json() if as_json else "\n".join(compared.lines(most)))
    if out is not None:
        content = csv_text(compared.table) if kind == "csv" else compared.as_json()
        click.echo(write(out, content.encode()), err=as_json)
