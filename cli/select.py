"""`recover select`: select the columns of a table that matter for one of its columns."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from . import completion, options

_column = partial(options.column, columns=completion.table_columns)


@click.command()
@click.argument("data", type=click.Path(dir_okay=False, path_type=Path))
@_column("--target", "Column to explain: numbers, or two classes.", required=True, multiple=False)
@_column("--keep", "Keep a column that looks like an identifier.")
@_column("--drop", "Exclude a column; repeatable.")
@click.option(
    "--cutoff",
    type=click.Choice(["shadow", "gap", "kmeans", "mixture"]),
    default="shadow",
    show_default=True,
    help="Select columns more important than every shuffled copy (shadow), above the largest ratio of neighbouring "
    "importances (gap), or in the upper of two clusters, as in P3 (kmeans, mixture).",
)
@click.option("--count", type=click.IntRange(min=1), help="Select this number of columns instead.")
@click.option("--splits", type=click.IntRange(min=2), default=10, show_default=True, help="Random splits of the rows.")
@click.option(
    "--rows", type=click.IntRange(min=10), help="Rows to fit per split; the other rows are predicted.  [default: 80 %]"
)
@click.option("--baselines/--no-baselines", default=True, show_default=True, help="Also LASSO, OMP, forest, boosting.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for selection.json and a figure.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(data: Path, target: str, cutoff: Any, out: Path | None, as_json: bool, **settings: Any) -> None:
    """Select the columns of DATA that matter for COLUMN.

    DATA is a table as .csv or .parquet with one observation per row. A ReLU network with an l1 penalty on its input
    weights is fitted (P3); the importance of a column is the norm of its weights. The table also contains shuffled
    copies of all columns, which cannot explain the target; columns more important than every copy are selected.

    The network uses the selected columns to predict the target on rows that it was not fitted to. `stable` is the
    number of random splits in which a column was selected again: trust columns that are selected nearly always.

    A selected column need not cause the target. A column that is not selected may still carry information, for example
    if another column has the same. The prediction may be poor: R2 is near 0 if nothing is predicted.
    """
    from recovery.extras.selected import select_columns, write_selection

    selection = select_columns(data, target, cutoff=cutoff, **settings)
    click.echo(selection.as_json() if as_json else str(selection))
    if out is not None:
        for path in write_selection(selection, out):
            click.echo(path, err=as_json)
