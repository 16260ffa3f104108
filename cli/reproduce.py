"""`recover reproduce`: run the figures of the papers, and write their gallery."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import options

if TYPE_CHECKING:
    from recovery.extras.reproduction import Figure
    from recovery.runner.run import Forecast, Options
    from recovery.runner.stop import Stop

PAPERS = ("P1", "P2", "P3", "P4")


@click.command()
@click.argument("papers", nargs=-1, metavar="[PAPER|CONFIG]...")
@click.option("--out", type=options.FolderPath(), default=Path("results/papers"), show_default=True, help="Gallery.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Trials at a time.  [default: one a core]")
@click.option("--replicates", type=click.IntRange(min=1), metavar="N", help="At most N draws a cell, for a first look.")
@click.option("--max-time", type=options.Seconds(), help="Stop after so long, as 90 (seconds), 30m, 2h; exit 75.")
@click.option("--max-time-each", type=options.Seconds(), help="As many draws a cell of a figure as fit in so long.")
@click.option("--dry-run", is_flag=True, help="Say what would run and for how long; write nothing.")
@click.option("--gallery-only", is_flag=True, help="Run nothing; draw what is stored.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
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
    """Run every shipped figure of P1, P2, P3, P4 or all (the default), or the named configs, and write a gallery.

    Each figure has its own results folder in --out, and calling it again goes on where it stopped; the cheapest run
    first. The gallery there has one page a paper, README.md leads to them: every figure with what was claimed, what was
    measured, and what it took. It has all figures that are stored in --out.
    Exit status: 0 all that was asked for is stored, 1 a trial or a figure failed, 75 stopped early: call again.

    \b
    recover reproduce P2                       every figure of P2
    recover reproduce --replicates 1 -q        one draw a cell of everything
    recover reproduce all --max-time 8h        a night, then the same command again
    recover reproduce all --max-time-each 5m   every figure, as fine as five minutes allow
    """
    from joblib import cpu_count

    from recovery.extras.reproduction import Figure
    from recovery.runner.run import Options
    from recovery.runner.stop import RESUMABLE, Stop, StopRequested
    from recovery.runner.workers import Engine

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
            click.echo(f"stopped by {request} before the first trial; run the same command to go on", err=True)
            sys.exit(RESUMABLE)
    from tabulate import tabulate

    from recovery.extras.gallery_pages import gallery_table, in_short, write_gallery

    click.echo(f"drawing the gallery in {out}", err=True)
    asked = {one.name for one in figures}
    shown = write_gallery([name for name in chosen(()) if name in asked or (out / name).is_dir()], out)
    heads, rows = gallery_table(shown)
    click.echo(tabulate(rows, headers=heads, disable_numparse=True))
    click.echo(f"{out / 'README.md'}: {in_short(shown)}")
    if early:
        click.echo(f"stopped early: {early}; run the same command to go on", err=True)
        sys.exit(RESUMABLE)
    sys.exit(int(failed))


def chosen(papers: Sequence[str]) -> list[str]:
    """The shipped figures of these papers, and the configs of these names. Raises `ParameterError`."""
    from recovery.config import shipped
    from recovery.errors import ParameterError
    from recovery.text import did_you_mean

    of_paper = {name: name.split("-")[0].upper() for name in shipped()}
    of_paper = {name: paper for name, paper in of_paper.items() if paper in (*PAPERS, "ALL", "TRAIN")}
    names: dict[str, None] = {}
    for asked in papers or ("all",):
        matching = [name for name, paper in of_paper.items() if asked in (name, "all") or asked.upper() == paper]
        if not matching:
            allowed = [*PAPERS, "all", *of_paper]
            raise ParameterError(
                f"{asked!r} is no paper ({', '.join(PAPERS)}, all) and no shipped figure{did_you_mean(asked, allowed)}"
            )
        names |= dict.fromkeys(matching)
    return list(names)


def forecasts(
    figures: Sequence[Figure], settings: Options, stop: Stop, each: float | None, *, only: bool
) -> tuple[list[Figure], bool]:
    """Print a line a figure, as soon as its time is known, and their sum; the figures that can run, the cheapest first,
    and whether there are others, apart from those whose data file is missing.

    only: whether that is all that was asked for; else a quick one is enough.
    """
    from recovery.config import MissingFileError
    from recovery.errors import RecoverError
    from recovery.runner.forecast import MOST_SECONDS, SECONDS
    from recovery.runner.run import forecast
    from recovery.text import duration

    forecast_of: list[tuple[Figure, Forecast]] = []
    failed = False
    for figure in figures:
        try:
            with stop.held():
                plan = figure.wanted()
            one = forecast(plan, settings, MOST_SECONDS if only else SECONDS)
        except MissingFileError:
            click.echo(f"{figure.name}: left out; `recover check {figure.name}` says which file it needs", err=True)
            continue
        except RecoverError as error:
            click.echo(f"{figure.name}: {error}", err=True)
            failed = True
            continue
        forecast_of.append((figure, one))
        time = f"about {duration(one.seconds)}, by {one.known_by}" if one.trials else "nothing"
        click.echo(f"{figure.name:20}{one.trials:>7} trials to run, {time}", err=not only)
    seconds = [one.seconds or 0.0 for _, one in forecast_of]
    trials, jobs = sum(one.trials for _, one in forecast_of), settings.engine.jobs
    total = f"{trials} trials to run, about {duration(sum(seconds))} with {jobs} jobs, the cheapest figure first"
    if each is not None:
        total += f"; {duration(sum(min(one, each) for one in seconds))} with at most {duration(each)} for each"
    click.echo(total, err=not only)
    return [figure for figure, one in sorted(forecast_of, key=lambda pair: pair[1].seconds or 0.0)], failed


def run_all(
    figures: Sequence[Figure], settings: Options, stop: Stop, each: float | None, quiet: bool
) -> tuple[bool, str]:
    """Run them in turn; whether one of them or of their trials failed, and why not all is stored, or ''."""
    from recovery.errors import RecoverError
    from recovery.extras.reproduction import run_figure
    from recovery.runner.progress import Progress, display

    def progress(name: str) -> Progress:
        return Progress(display(name, quiet=quiet))

    failed, unfinished = False, []
    for figure in figures:
        try:
            summary = run_figure(figure, settings, stop, each, progress)
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
    return failed, f"{len(unfinished)} figures have more to run" if unfinished else ""
