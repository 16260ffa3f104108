"""`recover sweep`: run the trials of a config that are not stored yet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from recovery.backends import BACKENDS

from . import options

if TYPE_CHECKING:
    from recovery.config import Sweep
    from recovery.runner.plan import Plan
    from recovery.runner.rounds import Interim
    from recovery.runner.run import Options, Summary
    from recovery.runner.stop import Stop
    from recovery.store.folder import Folder

LEAST_MEMORY = 32
"""Minimum of --trial-memory in MiB; with less, every trial would be stored as `killed`."""


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


@dataclass(frozen=True)
class Request:
    """Arguments of `recover sweep`; the help of each option explains it."""

    config: str
    out: Path | None
    overrides: tuple[str, ...]
    until: str | None
    refine: bool
    jobs: int | None
    backend: str | None
    shard: tuple[int, int] | None
    max_time: float | None
    trial_timeout: float | None
    trial_memory: int | None
    fail_fast: bool
    max_failures: int | None
    max_equal_failures: int | None
    retry_failed: bool
    rerun_changed: bool
    dry_run: bool
    quiet: bool
    as_json: bool
    on_end: str | None
    trust: bool

    def end(self, status: int, **facts: object) -> NoReturn:
        """Print the summary as JSON and run the --on-end command, as requested, and exit."""
        text = json.dumps({"config": self.config, "exit": status, **facts})
        if self.as_json:
            with suppress(OSError):  # the terminal may be closed
                click.echo(text)
        if self.on_end is not None and not self.dry_run:
            done = subprocess.run(self.on_end, shell=True, input=text + "\n", text=True, check=False)
            if done.returncode:
                click.echo(f"--on-end: {self.on_end!r} ended with status {done.returncode}", err=True)
        sys.exit(status)

    @property
    def stored(self) -> Folder | None:
        """The results folder whose stored sweep is to be run, if CONFIG is one. Raises `ParameterError`."""
        from recovery.config import shipped
        from recovery.errors import ParameterError
        from recovery.store.folder import Folder
        from recovery.store.sweepfile import SWEEP_FILE

        if self.config in shipped() or not (Path(self.config) / SWEEP_FILE).is_file():
            return None
        if self.out or self.overrides or self.until:
            raise ParameterError(
                f"{self.config} is a results folder, which is run as it is stored; give a config for --out, --set and "
                "--until"
            )
        return Folder(Path(self.config))

    def options(self, sweep: Sweep) -> Options:
        """Return the options of the run of this sweep, from the arguments and defaults."""
        from joblib import cpu_count

        from recovery.runner.batches import slurm_shard
        from recovery.runner.engine import Engine
        from recovery.runner.pool import Limits
        from recovery.runner.run import MOST_EQUAL, Options

        limits = Limits(self.trial_timeout, self.trial_memory)
        return Options(
            Engine(self.jobs or cpu_count(), self.backend or sweep.backend, limits),
            shard=self.shard or slurm_shard(os.environ) or (1, 1),
            retry_failed=self.retry_failed,
            max_failures=1 if self.fail_fast else self.max_failures,
            max_equal_failures=MOST_EQUAL if self.max_equal_failures is None else self.max_equal_failures,
            rerun_changed=self.rerun_changed,
        )


@click.command()
@options.config
@options.out
@options.overrides
@click.option(
    "--until",
    metavar="RULE",
    help="Sample at the boundary until 'threshold +-0.05', or until claims of thresholds are 'decided'.",
)
@click.option(
    "--no-refine",
    "refine",
    flag_value=False,
    default=True,
    help="Let --until add no values of the axis where its spacing limits a threshold.",
)
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Trials at a time.  [default: one per core]")
@click.option(
    "--backend", type=click.Choice(BACKENDS), help="Backend that runs the trials.  [default: the config's choice]"
)
@click.option(
    "--shard",
    type=Shard(),
    help="Run the I-th of N shares of equal cost.  [default: the share of this SLURM array task, otherwise 1/1]",
)
@click.option("--max-time", type=options.Seconds(), help="Stop after this time: 90 (seconds), 30m, 2h; exit status 75.")
@click.option("--trial-timeout", type=options.Seconds(), help="End a trial after this time: 90 (seconds), 30m.")
@click.option(
    "--trial-memory",
    type=click.IntRange(min=LEAST_MEMORY),
    metavar="MIB",
    help="End a trial that allocates more (Linux only).",
)
@click.option("--fail-fast", is_flag=True, help="Stop at the first failed trial.")
@click.option("--max-failures", type=click.IntRange(min=1), metavar="N", help="Stop after N failed trials.")
@click.option(
    "--max-equal-failures",
    type=click.IntRange(min=0),
    metavar="N",
    help="Stop after N equal failures of a method without any measured trial; 0: never.  [default: 50]",
)
@click.option("--retry-failed", is_flag=True, help="Also run failed, timed-out and killed trials again.")
@click.option("--rerun-changed", is_flag=True, help="Run trials again whose user code has changed since.")
@click.option("--dry-run", is_flag=True, help="Show what would run, with a forecast of the time; write nothing.")
@click.option("--quiet", "-q", is_flag=True, help="Do not print progress to stderr.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@click.option("--on-end", metavar="COMMAND", help="At the end, run a shell command with that JSON as its input.")
@click.option("--trust", is_flag=True, help="If CONFIG is a results folder, run the user code that it names.")
def command(**given: Any) -> None:
    """Run the trials of CONFIG that are not stored yet, and store a row for each.

    CONFIG is a YAML file, the name of a shipped config (`recover configs`), or a results folder, whose stored sweep is
    continued. Running the command again continues where it stopped. Several processes may run on one folder at the
    same time.

    Exit status: 0 if all stored trials are ok and the rule of --until is met; 1 if some failed, or if the rule ended
    unmet; 2 for an invalid argument or config; 75 if it stopped early (SIGINT, SIGTERM, SIGUSR1, --max-time, a full
    disk, a round that waits for other shards): run it again.
    """
    from recovery.errors import RecoverError
    from recovery.runner.stop import RESUMABLE, Stop, StopRequested

    request = Request(**given)
    try:
        with Stop(request.max_time) as stop:
            plan, settings, summary = _run(request, stop)
    except StopRequested as request_to_stop:
        click.echo(f"stopped by {request_to_stop} before the first trial; run the same command to continue", err=True)
        request.end(RESUMABLE, stopped=str(request_to_stop))
    except RecoverError as error:
        click.echo(f"Error: {error}", err=True)
        request.end(2, error=str(error))
    if summary is None:
        return
    for path, reason in summary.damaged:
        click.echo(f"{path}: moved aside: {reason}", err=True)
    with suppress(OSError):  # the terminal may be closed
        _report(plan, summary, settings, request)
    failed = sum(summary.stored.values()) > summary.stored["ok"]
    unmet = bool(summary.unmet)
    status = RESUMABLE if summary.stopped and not summary.gave_up else int(failed or unmet)
    request.end(status, **_content(plan, summary))


def _run(request: Request, stop: Stop) -> tuple[Plan, Options, Summary | None]:
    """Run the missing trials; with --dry-run print a forecast instead, without a summary."""
    with stop.held():
        from recovery.runner.server import start_server

        if not request.dry_run and request.backend in (None, "processes"):
            start_server()  # the fork server starts while this process imports modules
        from recovery.runner.loading import load, sweep_of
        from recovery.runner.plan import plan as plan_sweep
        from recovery.runner.progress import display
        from recovery.runner.run import run
        from recovery.runner.sweep_status import stale_words

    stored = request.stored
    sweep = (
        load(request.config, request.overrides, request.until, refine=request.refine)
        if stored is None
        else sweep_of(stored.load()["config"], trust=request.trust)
    )
    plan = plan_sweep(sweep, stored.path if stored is not None else request.out or Path("results") / sweep.name)
    settings = request.options(sweep)
    if not request.rerun_changed and plan.stale:
        click.echo(stale_words(len(plan.stale), "--rerun-changed"), err=True)
    options.warn_memory(sweep)
    if request.dry_run:
        click.echo(_forecast(plan, settings))
        return plan, settings, None
    return plan, settings, run(plan, settings, display(sweep.name, quiet=request.quiet), stop, _analyse)


def _analyse(results: Path) -> Interim:
    # imported here, because this module imports pandas, which only later rounds need
    from recovery.report.until import interim_analysis

    return interim_analysis(results)


def _content(plan: Plan, summary: Summary) -> dict[str, object]:
    """Return the summary as JSON values."""
    return {
        "name": plan.sweep.name,
        "folder": str(plan.folder.path),
        "planned": summary.planned,
        "stored": dict(summary.stored),
        "ran": dict(summary.ran),
        "changed": summary.changed,
        "damaged": [str(path) for path, _ in summary.damaged],
        "stopped": summary.stopped,
        "gave_up": summary.gave_up,
        **({"until": list(summary.interim), "unmet": summary.unmet} if summary.interim else {}),
    }


def _forecast(plan: Plan, settings: Options) -> str:
    from recovery.runner.forecast import forecast

    expected = forecast(plan, settings)
    stored = plan.counts.total()
    lines = [f"{plan.folder.path}: {len(plan.trials)} trials, {stored} stored, {expected.trials} to run"]
    if plan.next_round is not None:
        later = plan.sweep.size - len(plan.trials)
        lines.append(f"then up to {later} trials from round {plan.next_round} on, placed by the earlier rounds")
    return "\n".join([*lines, str(expected)] if expected.trials else lines)


def _report(plan: Plan, summary: Summary, settings: Options, request: Request) -> None:
    """Print the summary to stdout, and why the run ended and what to do next to stderr."""
    folder, stored = plan.folder.path, sum(summary.stored.values())
    failed = sorted((status, count) for status, count in summary.stored.items() if status != "ok")
    counts = "".join(f", {count} {status}" for status, count in failed)
    if not request.as_json:
        text = f"{folder}: {stored} of {summary.planned} trials stored{counts} ({sum(summary.ran.values())} run now)"
        click.echo("\n".join([text, *summary.interim]))
    if summary.unmet:
        click.echo(f"the rule is not met: {summary.unmet}", err=True)
    if summary.gave_up:
        click.echo(f"stopped: {summary.gave_up}; `recover status {folder}` shows why", err=True)
    elif summary.stopped:
        click.echo(f"stopped early: {summary.stopped}; run the same command to continue", err=True)
    elif request.quiet:
        return
    elif stored < summary.planned:
        index, count = settings.shard
        click.echo(f"shard {index} of {count} is complete; other shards are not", err=True)
    else:
        if failed:
            click.echo(f"why trials failed: recover status {folder}", err=True)
        click.echo(f"next: recover report {folder}", err=True)
