"""`recover sweep`: run the trials of a config that are not stored yet."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from recovery.runner.sweep import Plan, Summary

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")


@click.command()
@click.argument("config")
@click.option("--out", type=click.Path(path_type=Path), help="Results folder.  [default: results/NAME]")
@click.option(
    "--set", "overrides", metavar="PATH=VALUE", multiple=True, help="Override a field of the config; repeatable."
)
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Worker processes.  [default: one a core]")
@click.option(
    "--max-time", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Stop after S seconds; exit 75."
)
@click.option("--fail-fast", is_flag=True, help="Stop at the first failed trial.")
@click.option("--max-failures", type=click.IntRange(min=1), metavar="N", help="Stop after N failed trials.")
@click.option("--dry-run", is_flag=True, help="Say what would run; write nothing.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
def command(
    config: str,
    out: Path | None,
    overrides: tuple[str, ...],
    jobs: int | None,
    max_time: float | None,
    fail_fast: bool,
    max_failures: int | None,
    dry_run: bool,
    quiet: bool,
) -> None:
    """Run the trials of CONFIG that are not stored yet, and store a row for each.

    CONFIG is a YAML file or the name of a shipped config (`recover configs`). Calling it again goes on where the
    last call stopped. Exit status: 0 all trials are ok, 1 some failed, 2 bad usage or config, 75 stopped early by
    a signal or --max-time: call again.
    """
    from joblib import cpu_count

    from recovery.config import load
    from recovery.runner.progress import Progress, display
    from recovery.runner.sweep import Options, plan, run
    from recovery.runner.workers import Engine

    sweep = load(config, overrides)
    planned = plan(sweep, out or Path("results") / sweep.name)
    engine = Engine(jobs or cpu_count())
    options = Options(engine, max_failures=1 if fail_fast else max_failures, max_time=max_time)
    if dry_run:
        click.echo(_dry_run(planned, engine.jobs))
        return
    summary = run(planned, options, Progress(display(sweep.name, quiet=quiet)))
    for path, reason in summary.damaged:
        click.echo(f"{path}: set aside, {reason}; its trials ran again", err=True)
    _report(planned, summary)
    sys.exit(_exit_code(summary))


def _dry_run(planned: Plan, jobs: int) -> str:
    missing = len(planned.missing())
    return f"{planned.sweep.name}: {len(planned.trials)} trials, {missing} to run with {jobs} jobs"


def _report(planned: Plan, summary: Summary) -> None:
    folder, failed = planned.folder.path, {k: v for k, v in summary.stored.items() if k != "ok"}
    counts = "".join(f", {count} {status}" for status, count in sorted(failed.items()))
    stored = sum(summary.stored.values())
    click.echo(f"{folder}: {stored} of {summary.planned} trials stored{counts} ({sum(summary.ran.values())} run now)")
    if summary.gave_up:
        click.echo(f"stopped: {summary.failures} trials failed; `recover status {folder}` says why", err=True)
    elif summary.stopped:
        click.echo(f"stopped early: {summary.stopped}; run the same command to go on", err=True)
    elif stored:
        click.echo(f"next: recover report {folder}", err=True)


def _exit_code(summary: Summary) -> int:
    from recovery.runner.stop import RESUMABLE

    if summary.stopped and not summary.gave_up:
        return RESUMABLE
    return 1 if sum(summary.stored.values()) > summary.stored["ok"] else 0
