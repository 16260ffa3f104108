"""`recover report`: draw and tabulate results folders."""

from pathlib import Path
from typing import Any

import click

from recovery.report.formats import REPORT

from . import options


@click.command()
@click.argument("results", nargs=-1, required=True, type=options.FolderPath())
@click.option(
    "--format",
    "kind",
    type=click.Choice(REPORT),
    help="Format; with a picture the map is printed, too.  [default: from the name of --out, otherwise png]",
)
@click.option("--value", metavar="COLUMN", multiple=True, help="A measured column, or COLUMN<=NUMBER; repeatable.")
@click.option("--out", type=options.FolderPath(), help="File to write, or folder for several files.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override a key of the config's report, such as x=n/d, pool=none or limits=[0,1]; repeatable.",
)
@click.option(
    "--style",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override a key of the config's report.style, such as width=slide; repeatable.",
)
@click.option(
    "--columns",
    metavar="COLUMN",
    multiple=True,
    help="A measured column to add to the cells of csv and latex, or all; repeatable.",
)
@click.option(
    "--claims",
    type=options.FolderPath(dir_okay=False),
    metavar="FILE",
    help="Judge the claims of a YAML file instead; exit with status 1 if one is contradicted.",
)
@click.option("--check-claims", is_flag=True, help="Exit with status 1 if rows contradict a claim of their config.")
def command(check_claims: bool, claims: Path | None, **asked: Any) -> None:
    """Draw and tabulate the rows in RESULTS, one or more results folders.

    \b
    recover report results/quickstart                          map in the terminal, and a PNG
    recover report results/a results/b --format html --out ab.html
    recover report results/a results/b --out ab.png     one figure with the panels of both
    recover report results/a --value 'max_deviation<=1e-3' --format pdf
    recover report results/a --value recovered --value seconds      side by side
    recover report results/a --out figure.pdf --style width=column --style fonts=latex
    recover report results/a --format csv --columns all > cells.csv
    recover report results/a --format latex             the table of thresholds
    recover report results/a --claims mine.yaml         print verdicts, and write nothing
    """
    from recovery.report.command import report

    analyses = report(claims=claims, **asked)
    for analysis in analyses:
        options.warn_rows(analysis.diagram.grid, stale=True)
    if (check_claims or claims) and any(claim.verdict == "contradicted" for a in analyses for claim in a.claims):
        raise SystemExit(1)
