"""`recover reproduce`: run the figures of the papers, and write a gallery."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import options

if TYPE_CHECKING:
    from recovery.runner.run import Options
    from recovery.runner.stop import Stop


@click.command()
@click.argument("papers", nargs=-1, metavar="[PAPER|CONFIG]...")
@click.option("--out", type=options.FolderPath(), default=Path("results/papers"), show_default=True, help="Gallery.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Trials at a time.  [default: one per core]")
@click.option("--replicates", type=click.IntRange(min=1), metavar="N", help="At most N draws per cell.")
@click.option("--max-time", type=options.Seconds(), help="Stop after this time: 90 (seconds), 30m, 2h; exit status 75.")
@click.option("--gallery-only", is_flag=True, help="Run nothing; draw the stored rows.")
@click.option("--quiet", "-q", is_flag=True, help="Do not print progress to stderr.")
def command(
    papers: tuple[str, ...],
    out: Path,
    jobs: int | None,
    replicates: int | None,
    max_time: float | None,
    gallery_only: bool,
    quiet: bool,
) -> None:
    """Run the shipped figures of P1, P2, P3, P4 or all (the default), or the named configs, and write a gallery.

    Each figure has a results folder in --out. The same command continues where it stopped. The gallery has a page per
    paper, with the claims, results and time of every figure that is stored in --out; README.md links to the pages.

    Exit status: 0 if all requested trials are stored; 1 if a trial or a figure failed; 75 if it stopped early: run it
    again.

    The repository's results/papers, the default of --out, holds the rows that ship with the program; stored trials are
    not run again. Give another --out to run a figure anew.

    \b
    recover reproduce P2                       every figure of P2
    recover reproduce --replicates 1 -q        one draw per cell of every figure
    recover reproduce all --max-time 8h        run for a night, then repeat the command
    """
    from joblib import cpu_count

    from recovery.runner.engine import Engine
    from recovery.runner.run import Options
    from recovery.runner.stop import RESUMABLE, Stop, StopRequested

    names, failed, early = chosen(papers), False, ""
    settings = Options(Engine(jobs or cpu_count()))
    if not gallery_only:
        try:
            with Stop(max_time) as stop:
                failed, early = run_all(names, out, replicates, settings, stop, quiet)
        except StopRequested as request:
            click.echo(f"stopped by {request} before the first trial; run the same command to continue", err=True)
            sys.exit(RESUMABLE)
    from tabulate import tabulate

    from recovery.extras.gallery import gallery_table, in_short, write_gallery

    click.echo(f"drawing the gallery in {out}", err=True)
    before = set("".join(page.read_text() for page in sorted(out.glob("*.md"))).split())
    shown = write_gallery([name for name in chosen(()) if name in {*names} | before or (out / name).is_dir()], out)
    heads, rows = gallery_table(shown)
    click.echo(tabulate(rows, headers=heads, disable_numparse=True))
    click.echo(f"{out / 'README.md'}: {in_short(shown)}")
    if early:
        click.echo(f"stopped early: {early}; run the same command to continue", err=True)
        sys.exit(RESUMABLE)
    sys.exit(int(failed))


def chosen(papers: Sequence[str]) -> list[str]:
    """Return the names of the shipped configs of these papers or names, by default of all. Raises `ParameterError`."""
    from recovery.config import shipped
    from recovery.errors import ParameterError
    from recovery.extras.gallery import PAPERS
    from recovery.text import did_you_mean

    of_paper = {name: name.split("-")[0].upper() for name in shipped()}
    of_paper = {name: paper for name, paper in of_paper.items() if paper in (*PAPERS, "ALL", "LARGE", "TRAIN")}
    names: dict[str, None] = {}
    for word in papers or ("all",):
        matching = [name for name, paper in of_paper.items() if word in (name, "all") or word.upper() == paper]
        if not matching:
            allowed = [*PAPERS, "all", *of_paper]
            raise ParameterError(
                f"{word!r} is not a paper ({', '.join(PAPERS)}, all) or a shipped figure{did_you_mean(word, allowed)}"
            )
        names |= dict.fromkeys(matching)
    return list(names)


def run_all(
    names: Sequence[str], out: Path, replicates: int | None, settings: Options, stop: Stop, quiet: bool
) -> tuple[bool, str]:
    """Run the figures in turn; return whether a figure or a trial failed, and why trials are missing, or ''.

    Raises `StopRequested` before the first trial.
    """
    from recovery.errors import RecoverError
    from recovery.extras.gallery import figure_plan
    from recovery.report.until import interim_analysis
    from recovery.runner.progress import display
    from recovery.runner.run import run
    from recovery.runner.stop import StopRequested
    from recovery.store.compaction import compact
    from recovery.text import command_text

    failed, unfinished = False, ""
    for name in names:
        try:
            with stop.held():
                plan = figure_plan(name, out / name, replicates)
            summary = run(plan, settings, display(name, quiet=quiet), stop, interim_analysis)
            compact(plan.folder)
        except StopRequested as request:
            if name == names[0]:
                raise
            return failed, str(request)
        except RecoverError as error:
            click.echo(f"{name}: {error}", err=True)
            failed = True
            continue
        failed |= summary.failed
        if summary.gave_up:
            click.echo(f"{name}: {summary.gave_up}; `{command_text('status', plan.folder.path)}` says why", err=True)
        elif summary.stopped:
            unfinished = summary.stopped
            click.echo(f"{name}: {summary.stopped}", err=True)
        if stop.reason is not None:
            return failed, stop.reason
    return failed, unfinished
