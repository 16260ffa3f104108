"""`recover compare`: two stored grids cell by cell."""

from pathlib import Path

import click


@click.command()
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option("--value", metavar="COLUMN", help="What to compare: a measured column, or COLUMN<=NUMBER.")
@click.option("--most", type=click.IntRange(0), default=20, show_default=True, metavar="N", help="Cells to list.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="A page (.html), a figure (.png, .svg, .pdf) or the cells (.csv).",
)
def command(first: Path, second: Path, value: str | None, most: int, out: Path | None) -> None:
    """Compare two results folders cell by cell, paired where they share their seeds.

    \b
    recover compare results/gated results/exact
    recover compare results/a results/b --value test_distance --out difference.pdf
    recover compare results/a results/b --out difference.html
    """
    from recovery.report.command import compare_results

    compare_results(first, second, value, most, out)
