"""`recover reproduce`: run the figures of the papers, and write their gallery."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import options

if TYPE_CHECKING:
    from recovery.report.gallery import Wanted
    from recovery.runner.plan import Plan
    from recovery.runner.stop import Stop
    from recovery.runner.sweep import Options

PAPERS = ("P1", "P2", "P3", "P4")

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")


@click.command()
@click.argument("papers", nargs=-1, metavar="[PAPER|CONFIG]...")
@click.option("--out", type=options.FolderPath(), default=Path("results/papers"), show_default=True, help="Gallery.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Trials at a time.  [default: one a core]")
@click.option("--replicates", type=click.IntRange(min=1), metavar="N", help="At most N draws a cell, for a first look.")
@click.option("--max-time", type=options.Seconds(), help="Stop after so long, as 90 (seconds), 30m, 2h; exit 75.")
@click.option("--dry-run", is_flag=True, help="Say what would run and for how long; write nothing.")
@click.option("--gallery-only", is_flag=True, help="Run nothing; draw what is stored.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
def command(
    papers: tuple[str, ...],
    out: Path,
    jobs: int | None,
    replicates: int | None,
    max_time: float | None,
    dry_run: bool,
    gallery_only: bool,
    quiet: bool,
) -> None:
    """Run every shipped figure of P1, P2, P3, P4 or all (the default), or the named configs, and write a gallery.

    Each figure has its own results folder in --out, and calling it again goes on where it stopped; the cheapest run
    first. README.md there is the gallery: every figure with what was claimed, what was measured, and what it took.

    \b
    recover reproduce P2                       every figure of P2
    recover reproduce --replicates 1 -q        one draw a cell of everything
    recover reproduce all --max-time 8h        a night, then the same command again
    """
    from joblib import cpu_count

    from recovery.runner.stop import RESUMABLE, Stop, StopRequested
    from recovery.runner.sweep import Options
    from recovery.runner.workers import Engine

    wanted = chosen(papers, out)
    settings = Options(Engine(jobs or cpu_count(), "processes"))
    failed, stopped = False, ""
    if not gallery_only:
        try:
            with Stop(max_time) as stop:
                with stop.held():
                    plans = cheapest_first(planned(wanted, replicates))
                    click.echo(forecasts(plans, settings), err=not dry_run)
                if dry_run:
                    return
                failed, stopped = run_all(plans, settings, stop, quiet)
        except StopRequested as request:
            stopped = str(request)
    from recovery.report.gallery import write_gallery

    shown = write_gallery(wanted, out)
    full = sum(one.size == "full" for one in shown)
    click.echo(
        f"{out / 'README.md'}: {sum(one.stored > 0 for one in shown)} of {len(shown)} figures, {full} at full size"
    )
    if stopped:
        click.echo(f"stopped early: {stopped}; run the same command to go on", err=True)
        sys.exit(RESUMABLE)
    sys.exit(int(failed))


def chosen(papers: Sequence[str], out: Path) -> list[Wanted]:
    """The shipped figures of these papers, and the configs of these names. Raises `ParameterError`."""
    from recovery.config import load, shipped
    from recovery.errors import ParameterError
    from recovery.report.gallery import Wanted
    from recovery.text import did_you_mean

    of_paper = {name: name.split("-")[0].upper() for name in shipped()}
    of_paper = {name: paper for name, paper in of_paper.items() if paper in PAPERS}
    names: dict[str, None] = {}
    for asked in papers or ("all",):
        found = [name for name, paper in of_paper.items() if asked in (name, "all") or asked.upper() == paper]
        if not found:
            allowed = [*PAPERS, "all", *of_paper]
            raise ParameterError(
                f"{asked!r} is no paper ({', '.join(PAPERS)}, all) and no shipped figure{did_you_mean(asked, allowed)}"
            )
        names |= dict.fromkeys(found)
    sweeps = [load(name) for name in names]
    return [Wanted(one.name, one.title, one.source, one.size, out / one.name) for one in sweeps]


def planned(wanted: Sequence[Wanted], replicates: int | None) -> list[Plan]:
    """What each sweep has to run in its folder."""
    from recovery.config import load
    from recovery.runner.plan import plan

    plans = []
    for one in wanted:
        sweep = load(one.name)
        if replicates is not None and replicates < sweep.replicates:
            sweep = load(one.name, [f"replicates={replicates}"])
        plans.append(plan(sweep, one.folder))
    return plans


def cheapest_first(plans: Sequence[Plan]) -> list[Plan]:
    """By what the methods guess of the missing trials."""
    from recovery.runner.batches import cost

    return sorted(plans, key=lambda one: sum(cost(trial) for trial in one.missing))


def forecasts(plans: Sequence[Plan], settings: Options) -> str:
    """A line a figure, and the sum of those whose time is known."""
    from recovery.runner.progress import duration
    from recovery.runner.sweep import forecast

    found = [forecast(one, settings) for one in plans]
    lines = [
        f"{one.sweep.name:24} {each.trials:>7} trials to run, {_about(each.seconds) if each.trials else 'nothing'}"
        for one, each in zip(plans, found, strict=True)
    ]
    known = sum(each.seconds or 0.0 for each in found)
    unknown = sum(each.seconds is None and each.trials > 0 for each in found)
    total = (
        f"{sum(each.trials for each in found)} trials to run, about {duration(known)} with {settings.engine.jobs} jobs"
    )
    return "\n".join([*lines, total + (f", and {unknown} figures without an estimate" if unknown else "")])


def _about(seconds: float | None) -> str:
    from recovery.runner.progress import duration

    return "no estimate yet" if seconds is None else f"about {duration(seconds)}"


def run_all(plans: Sequence[Plan], settings: Options, stop: Stop, quiet: bool) -> tuple[bool, str]:
    """Run them in turn, and put the parts of each together; whether trials failed, and why it stopped early, or ''."""
    from recovery.runner.progress import Progress, display
    from recovery.runner.sweep import run
    from recovery.store.compact import compact

    failed = False
    for one in plans:
        if not one.missing and one.next_round is None:
            continue
        summary = run(one, settings, Progress(display(one.sweep.name, quiet=quiet)), stop)
        failed |= sum(summary.stored.values()) > summary.stored["ok"]
        if summary.gave_up:
            click.echo(f"{one.sweep.name}: {summary.gave_up}; `recover status {one.folder.path}` says why", err=True)
        elif summary.stopped:
            return failed, summary.stopped
        else:
            compact(one.folder)
    return failed, ""
