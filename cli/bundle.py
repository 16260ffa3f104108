"""`recover bundle`: pack a results folder and its report into one archive."""

from pathlib import Path

import click

from . import options


@click.command()
@options.results
@click.option("--out", type=options.FolderPath(), help="Archive to write.  [default: NAME.zip]")
@click.option("--trust", is_flag=True, help="Also pack user code from other folders that RESULTS names.")
def command(results: Path, out: Path | None, trust: bool) -> None:
    """Pack RESULTS into an archive: rows, config, figures, page, provenance, user code and a citation file."""
    from recovery.report.command import bundle_results

    bundle_results(results, out, trust)
