"""`recover status`: count the stored trials, and estimate the time left."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import options

if TYPE_CHECKING:
    from recovery.runner.sweep_status import SweepStatus


@click.command()
@options.results
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(results: Path, as_json: bool) -> None:
    """Count the stored trials of RESULTS by status, with the recent rate and the time left. Nothing is written.

    If RESULTS is a folder of several results folders, print a line for each.
    """
    from recovery.store.sweepfile import SWEEP_FILE

    if results.is_dir() and not (results / SWEEP_FILE).exists() and any(results.rglob(SWEEP_FILE)):
        return click.echo(several_text(results, as_json))
    from recovery.runner.sweep_status import sweep_status

    status = sweep_status(results)
    if as_json:
        facts = {**asdict(status), "missing": status.missing, "seconds_left": status.seconds_left}
        click.echo(json.dumps(facts, default=str))
        return None
    click.echo(status_text(status))
    if status.missing:
        script = results / "slurm" / "array.sbatch"
        command = ["sbatch", str(script)] if script.is_file() else ["recover", "sweep", str(results)]
        trust = " --trust" if status.own and not script.is_file() else ""
        click.echo(f"this runs the missing trials: {shlex.join(command)}{trust}")
    return None


def several_text(folder: Path, as_json: bool) -> str:
    """Return a table with a line for each sweep in a folder and their sum, or a JSON list."""
    from recovery.extras.overview import standing_table, standings

    known = list(standings(folder))
    if as_json:
        documents = [
            {"folder": str(folder / one.place), "error": one.remark}
            if one.status is None
            else {**asdict(one.status), "missing": one.status.missing, "seconds_left": one.status.seconds_left}
            for one in known
        ]
        return json.dumps(documents, default=str)
    return standing_table(known)


def status_text(sweep: SweepStatus) -> str:
    """Return counts by status, the most frequent errors, the recent rate and the time left."""
    from recovery.runner.sweep_status import WINDOW, age
    from recovery.text import duration

    lines = [f"{sweep.path}: {sweep.stored} of {sweep.planned} trials stored, {sweep.missing} missing"]
    lines += [f"  {count:>8} {status}" for status, count in sorted(sweep.statuses.items())]
    lines += [f"  {count} x {kind}: {message}  (trial {trial[:12]})" for count, kind, message, trial in sweep.errors]
    if sweep.errors:
        trust = " --trust" if sweep.own else ""
        lines.append(f"  where: recover replay {sweep.path} {sweep.errors[0][3][:12]} --traceback{trust}")
    if sweep.last_row is not None:
        idle = age(sweep.last_row)
        lines.append(f"last stored trial began {duration(idle)} ago")
        if sweep.missing and sweep.rate is not None and idle <= WINDOW.total_seconds():
            lines.append(f"recently {sweep.rate:.1f} trials/s; at this rate {duration(sweep.seconds_left)} left")
    if sweep.round is not None and sweep.missing:
        lines.append(f"round {sweep.round} is running: {sweep.missing} trials are missing to its end")
    return "\n".join(line for line in (*lines, sweep.edited, sweep.left_out, sweep.versions) if line)
