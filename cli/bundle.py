"""`recover bundle`: a results folder and its report in one archive."""

from pathlib import Path

import click

from . import options


@click.command()
@options.results
@click.option("--out", type=options.FolderPath(), help="Archive to write.  [default: NAME.zip]")
@click.option("--trust", is_flag=True, help="Pack own code also from a folder elsewhere that RESULTS names.")
def command(results: Path, out: Path | None, trust: bool) -> None:
    """Pack RESULTS to hand on: rows, config, figures, page, provenance, own code and a citation file."""
    from recovery.report.command import bundle_results

    bundle_results(results, out, trust)
