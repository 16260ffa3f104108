"""`recover report`: stored grids as maps, figures and tables."""

from pathlib import Path

import click

from recovery.report.formats import REPORT

from . import completion, options


@click.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "kind",
    type=click.Choice(REPORT),
    help="Default: by the ending of --out, or the terminal's map and a PNG.",
)
@click.option(
    "--value",
    "values",
    multiple=True,
    metavar="COLUMN",
    shell_complete=completion.measured,
    help="A measured column, or COLUMN<=NUMBER; repeatable.",
)
@click.option("--out", type=click.Path(path_type=Path), help="File to write; a folder where there are several.")
@click.option(
    "--style",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=completion.styles,
    help="Over the config's report.style, as in width=slide.",
)
@click.option(
    "--statistics",
    type=click.Choice(["plain", "full"]),
    default="plain",
    help="full: a probit curve's second opinion too.",
)
@click.option("--check-claims", is_flag=True, help="Exit with 1 if the grids contradict a claim of their configs.")
def command(
    results: tuple[Path, ...],
    kind: str | None,
    values: tuple[str, ...],
    out: Path | None,
    style: tuple[str, ...],
    statistics: str,
    check_claims: bool,
) -> None:
    """Draw and tabulate the grids stored in RESULTS, one or more folders.

    \b
    recover report results/quickstart                          map in the terminal, and a PNG
    recover report results/a results/b --format html --out ab.html
    recover report results/a --value 'max_deviation<=1e-3' --format pdf
    recover report results/a --value recovered --value seconds      side by side
    recover report results/a --out figure.pdf --style width=column --style fonts=latex
    recover report results/a --format csv > cells.csv
    """
    from recovery.report.command import report

    analyses = report(results, kind, values, out, style, statistics == "full")
    for analysis in analyses:
        options.say_left_out(analysis.diagram.grid)
        options.say_edited(analysis.diagram.grid)
    if check_claims and any(claim.verdict == "contradicted" for a in analyses for claim in a.claims):
        raise SystemExit(1)
