"""`recover sweep`: run the trials of a config that are not stored yet."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recovery.backends import BACKENDS
from recovery.text import command_text, path_text

from . import options

if TYPE_CHECKING:
    from recovery.runner.plan import Plan
    from recovery.runner.rounds import Interim
    from recovery.runner.run import Options, Summary
    from recovery.runner.stop import Stop
    from recovery.store.folder import Folder


class Shard(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """A shard I/N, with I from 1 to N."""

    name = "I/N"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        try:
            index, count = map(int, str(value).split("/"))
        except ValueError:
            self.fail(f"{value!r} does not have the form I/N, such as 1/8", param, ctx)
        if not 1 <= index <= count:
            most = max(count, 1)
            self.fail(f"{value!r}: shards are numbered from 1/{most} to {most}/{most}", param, ctx)
        return index, count


@click.command()
@options.config
@options.out
@options.overrides
@options.until
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Trials at a time.  [default: one per core]")
@click.option("--backend", type=click.Choice(BACKENDS), hidden=True)
@click.option(
    "--shard",
    type=Shard(),
    help="Run the I-th of N shares of equal cost.  [default: the share of this SLURM array task, otherwise 1/1]",
)
@click.option("--max-time", type=options.Seconds(), help="Stop after this time: 90 (seconds), 30m, 2h; exit status 75.")
@click.option("--trial-timeout", type=options.Seconds(), help="End a trial after this time: 90 (seconds), 30m.")
@click.option(
    "--rerun",
    type=click.Choice(("failed", "changed")),
    multiple=True,
    help="Also run again what failed, timed out or was killed, or ran user code that has changed since; repeatable.",
)
@click.option("--keep-changed", is_flag=True, hidden=True)
@click.option(
    "--measure",
    multiple=True,
    metavar="COLUMN",
    help="Measure this column in every trial, and run trials again whose row lacks it; repeatable.",
)
@click.option("--dry-run", is_flag=True, help="Show what would run, with a forecast of the time; write nothing.")
@click.option("--quiet", "-q", is_flag=True, help="Do not print progress to stderr.")
@click.option("--trust", is_flag=True, help="If CONFIG is a results folder, run the user code that it names.")
def command(**asked: Any) -> None:
    """Run the trials of CONFIG that are not stored yet, and store a row for each.

    CONFIG is a YAML file, the name of a shipped config (`recover configs`), or a results folder, whose stored sweep is
    continued. Running the command again continues where it stopped. Several processes may run on one folder at the
    same time.

    Exit status: 0 if all stored trials finished and the rule of --until is met; 1 if some failed, or if the rule ended
    unmet; 2 for an invalid argument or config; 75 if it stopped early (SIGINT, SIGTERM, SIGUSR1, --max-time, a full
    disk, a round that waits for other shards): run it again.
    """
    from recovery.runner.stop import RESUMABLE, Stop, StopRequested

    try:
        with Stop(asked["max_time"]) as stop:
            plan, settings, summary = _run(asked, stop)
    except StopRequested as request:
        click.echo(f"stopped by {request} before the first trial; run the same command to continue", err=True)
        sys.exit(RESUMABLE)
    if summary is None:
        return
    for moved in summary.damaged:
        click.echo(str(moved), err=True)
    with suppress(OSError):  # the terminal may be closed
        _report(plan, summary, settings, asked)
    sys.exit(RESUMABLE if summary.stopped and not summary.gave_up else int(summary.failed or bool(summary.unmet)))


def _run(asked: dict[str, Any], stop: Stop) -> tuple[Plan, Options, Summary | None]:
    """Run the missing trials; with --dry-run print a forecast instead, and return None for the summary."""
    with stop.held():
        from recovery.runner.server import start_server

        if not asked["dry_run"] and asked["backend"] in (None, "processes"):
            start_server()  # the fork server starts while this process imports modules
        from recovery.config import find, measuring
        from recovery.runner.loading import load, sweep_of
        from recovery.runner.plan import plan as plan_sweep
        from recovery.runner.progress import display
        from recovery.runner.run import Options, run
        from recovery.runner.sweep_status import stale_words

    stored = _stored_folder(asked)
    sweep = (
        load(asked["config"], asked["overrides"], asked["until"])
        if stored is None
        else sweep_of(stored.load()["config"], trust=asked["trust"])
    )
    if asked["measure"]:
        sweep = measuring(sweep, asked["measure"])
    out = stored.path if stored is not None else asked["out"] or Path("results") / sweep.name
    beside = out if stored is not None or asked["out"] else find(asked["config"]).parent / out
    if os.access(beside, os.R_OK) and beside.resolve() != out.resolve():
        click.echo(f"trials are stored in {out}, not in {path_text(beside)} beside the config", err=True)
    plan = plan_sweep(sweep, out)
    more = {name: asked[name] for name in ("shard", "rerun", "keep_changed")}
    settings = Options.of(sweep, asked["jobs"], asked["backend"], asked["trial_timeout"], **more)
    if plan.stale and "changed" not in settings.rerun:
        click.echo(stale_words(len(plan.stale), "--rerun changed"), err=True)
    if asked["dry_run"]:
        click.echo(_forecast(plan, settings))
        return plan, settings, None
    return plan, settings, run(plan, settings, display(sweep.name, quiet=asked["quiet"]), stop, _analyse)


def _stored_folder(asked: dict[str, Any]) -> Folder | None:
    """Return the results folder whose stored sweep is to be run, if CONFIG is one. Raises `ParameterError`."""
    from recovery.config import shipped
    from recovery.errors import ParameterError
    from recovery.store.folder import Folder
    from recovery.store.sweepfile import SWEEP_FILE

    config = asked["config"]
    if config in shipped() or not (Path(config) / SWEEP_FILE).is_file():
        return None
    if asked["out"] or asked["overrides"] or asked["until"]:
        raise ParameterError(
            f"{config} is a results folder, which is run as it is stored; to enlarge it, give its config "
            f"with --out {config}"
        )
    return Folder(Path(config))


def _analyse(results: Path) -> Interim:
    # imported here, because this module imports pandas, which only later rounds need
    from recovery.report.until import interim_analysis

    return interim_analysis(results)


def _forecast(plan: Plan, settings: Options) -> str:
    from recovery.runner.forecast import forecast

    expected = forecast(plan, settings)
    stored = plan.counts.total()
    lines = [f"{plan.folder.path}: {len(plan.trials)} trials, {stored} stored, {expected.trials} to run"]
    if plan.next_round is not None:
        later = plan.sweep.size - len(plan.trials)
        lines.append(f"then up to {later} trials from round {plan.next_round} on, placed by the earlier rounds")
    return "\n".join([*lines, str(expected)] if expected.trials else lines)


def _report(plan: Plan, summary: Summary, settings: Options, asked: dict[str, Any]) -> None:
    """Print the summary to stdout, and why the run ended and what to do next to stderr."""
    folder, stored = plan.folder.path, summary.stored.total()
    others = sorted((status, count) for status, count in summary.stored.items() if status != "ok")
    counts = "".join(f", {count} {status}" for status, count in others)
    text = f"{folder}: {stored} of {summary.planned} trials stored{counts} ({summary.ran.total()} run now)"
    click.echo("\n".join([text, *summary.interim]))
    if summary.unmet:
        click.echo(f"the rule is not met: {summary.unmet}", err=True)
    if summary.gave_up:
        click.echo(f"stopped: {summary.gave_up}; `{command_text('status', folder)}` shows why", err=True)
    elif summary.stopped:
        click.echo(f"stopped early: {summary.stopped}; run the same command to continue", err=True)
    elif asked["quiet"]:
        return
    elif stored < summary.planned:
        index, count = settings.shard
        click.echo(f"shard {index} of {count} is complete; other shards are not", err=True)
    else:
        if summary.failed:
            click.echo(f"why trials failed: {command_text('status', folder)}", err=True)
        click.echo(f"next: {command_text('report', folder)}", err=True)
