"""`recover trials`: list the stored trials that satisfy a condition."""

from pathlib import Path

import click

from . import options


@click.command()
@options.results
@click.option("--where", metavar="CONDITION", help="Condition, such as: n=200 and verdict == 'not_optimal'.")
@click.option("--out", type=options.FolderPath(), help="A .csv or .parquet file.  [default: a table on stdout]")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Rows of the table on stdout.")
def command(results: Path, where: str | None, out: Path | None, limit: int) -> None:
    """List trials of RESULTS: id, coordinates, status, verdict, and the columns of the condition.

    A condition compares columns, which `recover report --format json` lists, with = != < <= > >= and joins comparisons
    with and, or, not. It is parsed, not executed. `recover replay RESULTS ID` runs one of the trials again.
    """
    from recovery.extras.row_query import listed, table_of, written

    rows, named = listed(results, where)
    if out is not None:
        click.echo(f"{written(rows, out)}: {len(rows)} trials")
        return
    if rows.empty:
        click.echo(f"no trial satisfies: {where}" if where else "no trial is stored", err=True)
        return
    click.echo(table_of(rows.head(limit), results, named))
    if len(rows) > limit:
        click.echo(f"{limit} of {len(rows)} trials; --limit or --out gives all", err=True)
