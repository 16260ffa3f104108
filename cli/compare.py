"""`recover compare`: compare results folders cell by cell."""

from pathlib import Path

import click

from . import completion, options


@click.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--value",
    metavar="COLUMN",
    shell_complete=completion.measured,
    help="Value to compare: a measured column, or COLUMN<=NUMBER.",
)
@click.option("--most", type=click.IntRange(0), default=20, show_default=True, metavar="N", help="Cells to list.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Write a page (.html), a figure (.png, .svg, .pdf) or the cells (.csv).",
)
def command(results: tuple[Path, ...], value: str | None, most: int, out: Path | None) -> None:
    """Compare each results folder with the first one, cell by cell, and draw by draw if they share their seeds.

    \b
    recover compare results/gated results/exact
    recover compare results/gated results/exact results/trained
    recover compare results/a results/b --value test_distance --out difference.pdf
    recover compare results/a results/b --out difference.html
    """
    from recovery.errors import ReportError
    from recovery.extras.comparison import compare_each, stacked
    from recovery.extras.comparison_report import each_in_words
    from recovery.report.diagram import Diagram
    from recovery.report.figures import render
    from recovery.report.formats import COMPARISON, format_of, write
    from recovery.report.texts import csv_text
    from recovery.store import read

    kind = format_of(out, None, COMPARISON)
    if out is not None and kind is None:
        raise ReportError(f"{out}: unknown file name ending; allowed: .{', .'.join(COMPARISON)}")
    grids = [read(path) for path in results]
    for grid in grids:
        options.warn_rows(grid)
    comparisons = compare_each(*(Diagram.of(grid, value) for grid in grids))
    click.echo("\n".join(each_in_words(comparisons, most)))
    if out is None or kind is None:
        return
    if kind == "csv":
        content = csv_text(stacked(comparisons)).encode()
    elif kind == "html":
        from recovery.extras.comparison_report import comparison_page

        content = comparison_page(comparisons).encode()
    else:
        from recovery.extras.comparison_report import draw_differences

        content = render(draw_differences(comparisons), kind)
    click.echo(write(out, content))
