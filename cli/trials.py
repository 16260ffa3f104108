"""`recover trials`: the stored rows that satisfy a condition, with ids to copy."""

from pathlib import Path

import click

from . import options


@click.command()
@options.results
@click.option("--where", metavar="CONDITION", help="As in: n=200 and verdict == 'not_optimal'.")
@click.option("--out", type=options.FolderPath(), help="File: .csv, .parquet or .xlsx.  [default: a table on stdout]")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Rows of the table on stdout.")
def command(results: Path, where: str | None, out: Path | None, limit: int) -> None:
    """List the trials of RESULTS: id, coordinates, status, what was decided, and the columns of the condition.

    A condition compares columns, as `recover report --format json` names them, by = != < <= > >= and joins comparisons
    by and, or, not. It is parsed, never run. `recover replay RESULTS ID` runs one of the trials again.
    """
    from recovery.extras.trials import listed, table_of, written

    rows, asked = listed(results, where)
    if out is not None:
        click.echo(f"{written(rows, out)}: {len(rows)} trials")
        return
    click.echo(table_of(rows.head(limit), results, asked))
    if len(rows) > limit:
        click.echo(f"{limit} of {len(rows)} trials; --limit or --out shows all", err=True)
