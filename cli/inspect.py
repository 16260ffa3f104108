"""`recover inspect`: the conditions of the theory, evaluated on the user's own matrix."""

import json
from dataclasses import asdict

import click

ANSWERS = {"yes": "yes", "no": "no", "not refuted": "not refuted (every pattern looked at passes; not all were)"}

MOST_NAMES = 20


@click.command()
@click.argument("data", type=click.Path(dir_okay=False))
@click.option("--columns", multiple=True, metavar="COLUMN", help="Use this column, and others so named; repeatable.")
@click.option("--exclude", multiple=True, metavar="COLUMN", help="Leave this column out; repeatable.")
@click.option("--planted", type=click.Path(dir_okay=False), help="Matrix of planted neurons, one a row.")
@click.option(
    "--kind",
    type=click.Choice(["linear", "relu", "normalized_relu"]),
    help="What the planted neurons are. Default: linear for one row, relu for more.",
)
@click.option("--architecture", help="The network that is to recover them. Default: the one that fits their kind.")
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
    """Which isometry conditions does DATA satisfy, by how much, and what does theory expect?

    DATA: a numeric matrix as .csv, .parquet or .npy, a row an observation.
    """
    import numpy as np

    from recovery.extras.inspection import inspect_data
    from recovery.instances.files import read_columns, read_matrix

    if planted is None and (kind or architecture):
        raise click.UsageError("--kind and --architecture are about --planted neurons; give their FILE too")
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
    looked = "all of them" if inspection.exhaustive else "sampled and searched"
    click.echo(f"{data}: n = {inspection.n} rows, d = {inspection.d} columns; {inspection.patterns} patterns, {looked}")
    shown = ", ".join(table.names[:MOST_NAMES]) + (", ..." if len(table.names) > MOST_NAMES else "")
    click.echo(f"columns used: {shown}\n")
    for warning in table.warnings:
        click.echo(f"{data}: {warning}", err=True)
    for finding in inspection.findings:
        click.echo(f"{finding.question} [{finding.condition}]")
        click.echo(f"  {ANSWERS[finding.answer]}")
        click.echo(click.wrap_text(finding.reason, 100, "  ", "  ") + "\n")
