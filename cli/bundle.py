"""`recover bundle`: a results folder and its report in one archive."""

from pathlib import Path

import click

from . import options


@click.command()
@options.results
@click.option("--out", type=options.FolderPath(), help="Archive to write.  [default: NAME.zip]")
def command(results: Path, out: Path | None) -> None:
    """Pack RESULTS to hand on: rows, config, figures, page, provenance and a citation file."""
    from recovery.report.command import bundle_results

    bundle_results(results, out)
