"""`recover sweep`: run the trials of a config that are not stored yet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from recovery.backends import BACKENDS

from . import completion, options
from .options import say_memory

if TYPE_CHECKING:
    from recovery.runner.plan import Plan
    from recovery.runner.progress import Display
    from recovery.runner.rounds import Look
    from recovery.runner.run import Options, Summary

LEAST_MEMORY = 32
"""MiB: below, not even a small trial runs, and every one would be stored as `killed`."""


class Shard(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """I/N, with I from 1 to N."""

    name = "I/N"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        try:
            index, count = map(int, str(value).split("/"))
        except ValueError:
            self.fail(f"{value!r} is not of the form I/N, as in 1/8", param, ctx)
        if not 1 <= index <= count:
            self.fail(
                f"{value!r}: shards are numbered from 1/{max(count, 1)} to {max(count, 1)}/{max(count, 1)}", param, ctx
            )
        return index, count


@click.command()
@options.config
@options.out
@click.option(
    "--set",
    "overrides",
    metavar="PATH=VALUE",
    multiple=True,
    shell_complete=completion.overrides,
    help="Override a field; repeatable.",
)
@click.option(
    "--until",
    metavar="RULE",
    help="Go on at the boundary until 'threshold +-0.05', or until claims of thresholds are 'decided'.",
)
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Trials at a time.  [default: one a core]")
@click.option("--backend", type=click.Choice(BACKENDS), help="Where trials run.  [default: the config's choice]")
@click.option(
    "--shard", type=Shard(), help="Run the I-th of N balanced shares.  [default: this SLURM array task's, else 1/1]"
)
@click.option("--max-time", type=options.Seconds(), help="Stop after so long, as 90 (seconds), 30m, 2h; exit 75.")
@click.option("--trial-timeout", type=options.Seconds(), help="End a trial after so long, as 90 (seconds), 30m.")
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
    help="Stop after N failures alike of a method that measured nothing; 0: never.  [default: 50]",
)
@click.option("--retry-failed", is_flag=True, help="Run failed, timed-out and killed trials again, too.")
@click.option("--rerun-changed", is_flag=True, help="Run again what ran other code of yours than there is now.")
@click.option("--dry-run", is_flag=True, help="Say what would run and for how long; write nothing.")
@click.option("--watch", "watched", is_flag=True, help="Show it with the map while it fills, on a terminal.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@click.option("--on-end", metavar="COMMAND", help="Run a shell command at the end, with that JSON on its input.")
def command(
    config: str,
    out: Path | None,
    overrides: tuple[str, ...],
    until: str | None,
    jobs: int | None,
    backend: str | None,
    shard: tuple[int, int] | None,
    max_time: float | None,
    trial_timeout: float | None,
    trial_memory: int | None,
    fail_fast: bool,
    max_failures: int | None,
    max_equal_failures: int | None,
    retry_failed: bool,
    rerun_changed: bool,
    dry_run: bool,
    watched: bool,
    quiet: bool,
    as_json: bool,
    on_end: str | None,
) -> None:
    """Run the trials of CONFIG that are not stored yet, and store a row for each.

    CONFIG is a YAML file or the name of a shipped config (`recover configs`). Calling it again goes on where the
    last call stopped; several may run on one folder at once. Exit status: 0 all stored trials are ok, 1 some failed,
    2 bad usage or config, 75 stopped early (SIGINT, SIGTERM, SIGUSR1, --max-time, a full disk, a round that waits for
    other shards): call again.
    """
    from recovery.errors import RecoverError
    from recovery.runner.stop import RESUMABLE, Stop, StopRequested

    def end(status: int, **facts: object) -> NoReturn:
        text = json.dumps({"config": config, "exit": status, **facts})
        with suppress(OSError):  # the terminal may be gone
            if as_json:
                click.echo(text)
        if on_end is not None and not dry_run:
            tell(on_end, text)
        sys.exit(status)

    try:
        with Stop(max_time) as stop:
            with stop.held():
                from recovery.runner.fork_server import FORK_SERVER

                if not dry_run and backend in (None, "processes"):
                    FORK_SERVER.begin()
                from joblib import cpu_count

                from recovery.runner.batches import slurm_shard
                from recovery.runner.own_code import load
                from recovery.runner.plan import plan
                from recovery.runner.pool import Limits
                from recovery.runner.progress import Progress, display
                from recovery.runner.run import MOST_EQUAL, Options, run
                from recovery.runner.workers import Engine

            sweep = load(config, overrides, until)
            FORK_SERVER.load()
            planned = plan(sweep, out or Path("results") / sweep.name)
            options = Options(
                Engine(jobs or cpu_count(), backend or sweep.backend, Limits(trial_timeout, trial_memory)),
                shard=shard or slurm_shard(os.environ) or (1, 1),
                retry_failed=retry_failed,
                max_failures=1 if fail_fast else max_failures,
                max_equal_failures=MOST_EQUAL if max_equal_failures is None else max_equal_failures,
                rerun_changed=rerun_changed,
            )
            if not rerun_changed and (edited := len(planned.changed)):
                words = f"{edited} stored trials ran other code of yours than there is now"
                click.echo(f"{words}; --rerun-changed runs them again", err=True)
            say_memory(sweep)
            if dry_run:
                click.echo(_forecast(planned, options))
                return
            shown = _map(planned.folder.path) if watched and not quiet else None
            summary = run(planned, options, Progress(shown or display(sweep.name, quiet=quiet)), stop, _look)
    except StopRequested as request:
        click.echo(f"stopped by {request} before the first trial; run the same command to go on", err=True)
        end(RESUMABLE, stopped=str(request))
    except RecoverError as error:
        click.echo(f"Error: {error}", err=True)
        end(2, error=str(error))
    for path, reason in summary.damaged:
        click.echo(f"{path}: set aside: {reason}", err=True)
    with suppress(OSError):  # the terminal may be gone
        _report(planned, summary, options, quiet, as_json)
    failed = sum(summary.stored.values()) > summary.stored["ok"]
    end(RESUMABLE if summary.stopped and not summary.gave_up else int(failed), **_content(planned, summary))


def _look(results: Path) -> Look:
    from recovery.report.until import interim_analysis  # pandas, and only after a round

    return interim_analysis(results)


def _map(results: Path) -> Display | None:
    """The map of the folder on stderr; none where that is no terminal."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console

    from recovery.report.live import Watching

    from .status import in_words

    return Watching(results, in_words, Console(stderr=True))


def tell(command: str, text: str) -> None:
    """Run a shell command with a text on its input; that it fails is said, and changes nothing."""
    done = subprocess.run(command, shell=True, input=text + "\n", text=True, check=False)
    if done.returncode:
        click.echo(f"--on-end: {command!r} ended with status {done.returncode}", err=True)


def _content(planned: Plan, summary: Summary) -> dict[str, object]:
    return {
        "name": planned.sweep.name,
        "folder": str(planned.folder.path),
        "planned": summary.planned,
        "stored": dict(summary.stored),
        "ran": dict(summary.ran),
        "changed": summary.changed,
        "damaged": [str(path) for path, _ in summary.damaged],
        "stopped": summary.stopped,
        "gave_up": summary.gave_up,
        **({"until": list(summary.looked), "unmet": summary.unmet} if summary.looked else {}),
    }


def _forecast(planned: Plan, options: Options) -> str:
    from recovery.runner.run import forecast
    from recovery.text import duration

    expected = forecast(planned, options)
    lines = [
        f"{planned.folder.path}: {len(planned.trials)} trials, {planned.counts.total()} stored, "
        f"{expected.trials} to run"
    ]
    if planned.next_round is not None:
        later = planned.sweep.size - len(planned.trials)
        lines.append(f"then up to {later} trials from round {planned.next_round[0]} on, placed by what came before")
    if expected.seconds is not None:
        jobs = options.engine.jobs
        alone = f"{duration(expected.seconds * jobs)} of one core"
        lines.append(f"about {duration(expected.seconds)} with {jobs} jobs ({alone}), by {expected.known_by}")
    return "\n".join(lines)


def _report(planned: Plan, summary: Summary, options: Options, quiet: bool, as_json: bool) -> None:
    folder, stored = planned.folder.path, sum(summary.stored.values())
    failed = sorted((status, count) for status, count in summary.stored.items() if status != "ok")
    counts = "".join(f", {count} {status}" for status, count in failed)
    if not as_json:
        text = f"{folder}: {stored} of {summary.planned} trials stored{counts} ({sum(summary.ran.values())} run now)"
        click.echo("\n".join([text, *summary.looked]))
    if summary.unmet:
        click.echo(f"the rule is not met: {summary.unmet}", err=True)
    if summary.gave_up:
        click.echo(f"stopped: {summary.gave_up}; `recover status {folder}` says why", err=True)
    elif summary.stopped:
        click.echo(f"stopped early: {summary.stopped}; run the same command to go on", err=True)
    elif quiet:
        return
    elif stored < summary.planned:
        click.echo(f"shard {options.shard[0]} of {options.shard[1]} is done; the others are not all", err=True)
    else:
        if failed:
            click.echo(f"why trials failed: recover status {folder}", err=True)
        click.echo(f"next: recover report {folder}", err=True)
