"""`recover reproduce`: run the figures of the papers, and write a gallery."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import options

if TYPE_CHECKING:
    from recovery.extras.reproduction import Figure
    from recovery.runner.forecast import Forecast
    from recovery.runner.run import Options
    from recovery.runner.stop import Stop

PAPERS = ("P1", "P2", "P3", "P4")


@click.command()
@click.argument("papers", nargs=-1, metavar="[PAPER|CONFIG]...")
@click.option("--out", type=options.FolderPath(), default=Path("results/papers"), show_default=True, help="Gallery.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Trials at a time.  [default: one per core]")
@click.option("--replicates", type=click.IntRange(min=1), metavar="N", help="At most N draws per cell.")
@click.option("--max-time", type=options.Seconds(), help="Stop after this time: 90 (seconds), 30m, 2h; exit status 75.")
@click.option("--max-time-each", type=options.Seconds(), help="Run as many draws per cell of a figure as fit.")
@click.option("--dry-run", is_flag=True, help="Show what would run, with a forecast of the time; write nothing.")
@click.option("--gallery-only", is_flag=True, help="Run nothing; draw the stored rows.")
@click.option("--quiet", "-q", is_flag=True, help="Do not print progress to stderr.")
def command(
    papers: tuple[str, ...],
    out: Path,
    jobs: int | None,
    replicates: int | None,
    max_time: float | None,
    max_time_each: float | None,
    dry_run: bool,
    gallery_only: bool,
    quiet: bool,
) -> None:
    """Run the shipped figures of P1, P2, P3, P4 or all (the default), or the named configs, and write a gallery.

    Each figure has a results folder in --out. The fastest figures run first, and the same command continues where it
    stopped. The gallery has a page per paper, with the claim, the result and the time of every figure that is stored in
    --out; README.md links to the pages.

    Exit status: 0 if all requested trials are stored; 1 if a trial or a figure failed; 75 if it stopped early: run it
    again.

    The repository's results/papers, the default of --out, holds the rows that ship with the program; stored trials are
    not run again. Give another --out to run a figure anew.

    \b
    recover reproduce P2                       every figure of P2
    recover reproduce --replicates 1 -q        one draw per cell of every figure
    recover reproduce all --max-time 8h        run for a night, then repeat the command
    recover reproduce all --max-time-each 5m   every figure, with the draws that fit in 5 minutes
    """
    from joblib import cpu_count

    from recovery.extras.reproduction import Figure
    from recovery.runner.engine import Engine
    from recovery.runner.run import Options
    from recovery.runner.stop import RESUMABLE, Stop, StopRequested

    figures = [Figure(name, out / name, replicates) for name in chosen(papers)]
    settings = Options(Engine(jobs or cpu_count(), "processes"))
    failed, early = False, ""
    if not gallery_only:
        try:
            with Stop(max_time) as stop:
                order, failed = forecasts(figures, settings, stop, max_time_each, only=dry_run)
                if dry_run:
                    sys.exit(int(failed))
                some_failed, early = run_all(order, settings, stop, max_time_each, quiet)
                failed |= some_failed
        except StopRequested as request:
            click.echo(f"stopped by {request} before the first trial; run the same command to continue", err=True)
            sys.exit(RESUMABLE)
    from tabulate import tabulate

    from recovery.extras.gallery import gallery_table, in_short, write_gallery

    click.echo(f"drawing the gallery in {out}", err=True)
    requested = {one.name for one in figures}
    before = set("".join(page.read_text() for page in sorted(out.glob("*.md"))).split())
    shown = write_gallery([name for name in chosen(()) if name in requested | before or (out / name).is_dir()], out)
    heads, rows = gallery_table(shown)
    click.echo(tabulate(rows, headers=heads, disable_numparse=True))
    click.echo(f"{out / 'README.md'}: {in_short(shown)}")
    if early:
        click.echo(f"stopped early: {early}; run the same command to continue", err=True)
        sys.exit(RESUMABLE)
    sys.exit(int(failed))


def chosen(papers: Sequence[str]) -> list[str]:
    """Return the shipped configs of these papers or names; without any, all of them. Raises `ParameterError`."""
    from recovery.config import shipped
    from recovery.errors import ParameterError
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


def forecasts(
    figures: Sequence[Figure], settings: Options, stop: Stop, each: float | None, *, only: bool
) -> tuple[list[Figure], bool]:
    """Print the forecast of each figure and their sum.

    Returns the figures that can run, the fastest first, and whether others failed, except those whose data file is
    missing. only: forecast more precisely, because nothing is run afterwards.
    """
    from recovery.config import MissingFileError
    from recovery.errors import RecoverError
    from recovery.runner.forecast import MOST_SECONDS, SECONDS, forecast
    from recovery.text import duration

    forecast_of: list[tuple[Figure, Forecast]] = []
    failed = False
    for figure in figures:
        try:
            with stop.held():
                plan = figure.plan()
            one = forecast(plan, settings, MOST_SECONDS if only else SECONDS)
        except MissingFileError:
            click.echo(f"{figure.name}: left out; `recover check {figure.name}` says which file it needs", err=True)
            continue
        except RecoverError as error:
            click.echo(f"{figure.name}: {error}", err=True)
            failed = True
            continue
        forecast_of.append((figure, one))
        about = f", {one}" if one.trials else f": all {len(plan.trials)} are stored in {figure.folder}"
        click.echo(f"{figure.name:20}{one.trials:>7} trials to run{about}", err=not only)
    seconds = [one.seconds for _, one in forecast_of]
    trials, jobs = sum(one.trials for _, one in forecast_of), settings.engine.jobs
    total = f"{trials} trials to run, about {duration(sum(seconds))} with {jobs} jobs, the fastest figure first"
    if each is not None:
        total += f"; {duration(sum(min(one, each) for one in seconds))} with at most {duration(each)} for each"
    if 0 in [one.trials for _, one in forecast_of]:
        total += "\nstored trials are not run again; to run them anew, give another --out"
    click.echo(total, err=not only)
    return [figure for figure, one in sorted(forecast_of, key=lambda pair: pair[1].seconds)], failed


def run_all(
    figures: Sequence[Figure], settings: Options, stop: Stop, each: float | None, quiet: bool
) -> tuple[bool, str]:
    """Run the figures in turn; return whether a figure or a trial failed, and why trials are missing, or ''."""
    from recovery.errors import RecoverError
    from recovery.extras.reproduction import run_figure
    from recovery.runner.progress import display

    failed, unfinished = False, []
    for figure in figures:
        try:
            summary = run_figure(figure, settings, stop, each, partial(display, quiet=quiet))
        except RecoverError as error:
            click.echo(f"{figure.name}: {error}", err=True)
            failed = True
            continue
        failed |= sum(summary.stored.values()) > summary.stored["ok"]
        if summary.gave_up:
            click.echo(f"{figure.name}: {summary.gave_up}; `recover status {figure.folder}` says why", err=True)
        elif summary.stopped:
            unfinished.append(figure.name)
            click.echo(f"{figure.name}: {summary.stopped}", err=True)
        if stop.reason is not None:
            return failed, stop.reason
    return failed, f"{len(unfinished)} figures have more trials to run" if unfinished else ""
