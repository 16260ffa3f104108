"""`recover inspect`: evaluate the isometry conditions on a data matrix."""

import json
from dataclasses import asdict

import click

ANSWERS = {
    "yes": "yes",
    "no": "no",
    "not refuted": "not refuted (every tested pattern passes, but not all were tested)",
}

MOST_NAMES = 20


@click.command()
@click.argument("data", type=click.Path(dir_okay=False))
@click.option("--columns", multiple=True, metavar="COLUMN", help="Use only this column; repeatable.")
@click.option("--exclude", multiple=True, metavar="COLUMN", help="Exclude this column; repeatable.")
@click.option("--planted", type=click.Path(dir_okay=False), help="Matrix of planted neurons, one per row.")
@click.option(
    "--kind",
    type=click.Choice(["linear", "relu", "normalized_relu"]),
    help="Kind of the planted neurons.  [default: linear for one row, otherwise relu]",
)
@click.option("--architecture", help="Network that should recover them.  [default: the one for their kind]")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the sampled patterns.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    data: str,
    columns: tuple[str, ...],
    exclude: tuple[str, ...],
    planted: str | None,
    kind: str | None,
    architecture: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Evaluate the isometry conditions on DATA, with their margins and what theory expects.

    DATA is a numeric matrix as .csv, .parquet or .npy, with one observation per row.
    """
    import numpy as np

    from recovery.extras.inspection import inspect_data
    from recovery.instances.files import read_columns, read_matrix

    if planted is None and (kind or architecture):
        raise click.UsageError("--kind and --architecture describe planted neurons; also give --planted FILE")
    table = read_columns(data, columns, exclude)
    neurons = None if planted is None else read_matrix(planted)
    form = kind or ("linear" if neurons is None or len(neurons) == 1 else "relu")
    inspection = inspect_data(
        table.X,
        np.random.default_rng(seed),
        planted=neurons,
        form=form,  # type: ignore[arg-type]  # click has checked it
        architecture=architecture,
        name=data,
    )
    if as_json:
        known = {"columns": table.names, "warnings": table.warnings}
        click.echo(json.dumps({**asdict(inspection), **known}, indent=2))
        return
    tested = "all of them" if inspection.exhaustive else "sampled and searched"
    click.echo(f"{data}: n = {inspection.n} rows, d = {inspection.d} columns; {inspection.patterns} patterns, {tested}")
    shown = ", ".join(table.names[:MOST_NAMES]) + (", ..." if len(table.names) > MOST_NAMES else "")
    click.echo(f"columns used: {shown}\n")
    for warning in table.warnings:
        click.echo(f"{data}: {warning}", err=True)
    for finding in inspection.findings:
        click.echo(f"{finding.question} [{finding.condition}]")
        click.echo(f"  {ANSWERS[finding.answer]}")
        click.echo(click.wrap_text(finding.reason, 100, "  ", "  ") + "\n")
