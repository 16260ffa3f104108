"""`recover select`: which columns of the user's own table matter for one of them."""

from pathlib import Path

import click

from . import completion


@click.command()
@click.argument("data", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--target",
    required=True,
    metavar="COLUMN",
    shell_complete=completion.table_columns,
    help="The column to explain: numbers, or two classes.",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="COLUMN",
    shell_complete=completion.table_columns,
    help="Keep a column that looks like an identifier.",
)
@click.option(
    "--drop", multiple=True, metavar="COLUMN", shell_complete=completion.table_columns, help="Leave a column out."
)
@click.option(
    "--cutoff",
    type=click.Choice(["shadow", "gap", "kmeans", "mixture"]),
    default="shadow",
    show_default=True,
    help="What is chosen: what matters more than shuffled copies of all columns (shadow); what is above the largest "
    "ratio of neighbours (gap); or the upper one of two clusters, as in P3.",
)
@click.option("--count", type=click.IntRange(min=1), help="Choose so many columns instead.")
@click.option("--splits", type=click.IntRange(min=2), default=10, show_default=True, help="Random parts of the rows.")
@click.option(
    "--rows", type=click.IntRange(min=10), help="Rows that each split fits; it predicts the others.  [default: 80 %]"
)
@click.option("--baselines/--no-baselines", default=True, show_default=True, help="Also LASSO, OMP, forest, boosting.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of everything random.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Write selection.json and a picture here."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    data: Path,
    target: str,
    keep: tuple[str, ...],
    drop: tuple[str, ...],
    cutoff: str,
    count: int | None,
    splits: int,
    rows: int | None,
    baselines: bool,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Which columns of DATA matter for COLUMN?

    DATA: a table as .csv or .parquet, a row an observation. A ReLU network with an l1 penalty on its input weights is
    fitted (P3); the norm of a column's weights is its importance. Beside the columns stand shuffled copies of all of
    them, which explain nothing; chosen is what matters more than every copy.

    \b
    What it means: the chosen columns are those that this network uses to predict the
    target on rows that it has not seen. `stable` says in how many of the random splits
    a column was chosen again: trust what is chosen nearly always.
    What it does not mean: that a column causes the target; that a column that is left
    out carries nothing (two columns that say the same need only one of them); that
    anything is predicted well: look at R2, which is near 0 where nothing is.
    """
    from recovery.extras.selected import select_columns, write_selection

    selection = select_columns(
        data,
        target,
        keep=keep,
        drop=drop,
        cutoff=cutoff,  # type: ignore[arg-type]  # click has checked it
        count=count,
        splits=splits,
        rows=rows,
        baselines=baselines,
        seed=seed,
    )
    click.echo(selection.as_json() if as_json else selection.as_text())
    if out is not None:
        for path in write_selection(selection, out):
            click.echo(path, err=as_json)
