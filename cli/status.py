"""`recover status`: count the stored trials, and estimate the time left."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click

from . import options

if TYPE_CHECKING:
    from recovery.runner.sweep_status import SweepStatus


NARROWEST = 10
"""Characters of the name of a sweep in a line of a table, at least; longer names are wrapped in a narrow terminal."""


@click.command()
@options.results
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(results: Path, as_json: bool) -> None:
    """Count the stored trials of RESULTS by status, with the recent rate and the time left. Nothing is written.

    If RESULTS is a folder of several results folders, print a line for each.
    """
    from recovery.store.sweepfile import SWEEP_FILE

    if results.is_dir() and not (results / SWEEP_FILE).exists() and any(results.rglob(SWEEP_FILE)):
        click.echo(several_text(results, as_json))
        return
    from recovery.runner.sweep_status import sweep_status

    status = sweep_status(results)
    click.echo(json.dumps(status.document, default=str) if as_json else status_text(status))
    if status.missing and not as_json:
        script = results / "slurm" / "array.sbatch"
        command = ["sbatch", str(script)] if script.is_file() else ["recover", "sweep", str(results)]
        trust = " --trust" if status.own and not script.is_file() else ""
        click.echo(f"this runs the missing trials: {shlex.join(command)}{trust}")


def several_text(folder: Path, as_json: bool) -> str:
    """Return a table with a line for each sweep in a folder and their sum, or a JSON list."""
    from tabulate import tabulate

    from recovery.errors import RecoverError
    from recovery.runner.sweep_status import SweepStatus, sweep_status
    from recovery.store.sweepfile import SWEEP_FILE
    from recovery.text import duration, many, path_text

    statuses, faults = list[SweepStatus](), dict[Path, str]()
    for path in sorted(file.parent for file in folder.rglob(SWEEP_FILE)):
        try:
            statuses.append(sweep_status(path))
        except RecoverError as error:
            faults[path] = str(error)
    if as_json:
        unread = [{"path": str(path), "error": error} for path, error in faults.items()]
        return json.dumps([*(status.document for status in statuses), *unread], default=str)
    rows = [
        [
            path_text(Path(one.path).relative_to(folder)),
            *(one.stored, one.planned, one.failed or ""),
            "" if one.idle is None else f"{duration(one.idle)} ago",
            *([duration(one.seconds_left) if one.seconds_left else f"{one.missing} trials"] if one.missing else [""]),
        ]
        for one in statuses
    ]
    heads = ("sweep", "stored", "of", "failed", "last start", "remaining")
    used = [k for k, head in enumerate(heads) if head not in ("failed", "remaining") or any(row[k] for row in rows)]
    shown, names = [[str(row[k]) for k in used] for row in rows], [heads[k] for k in used]
    table = tabulate(shown, headers=names, disable_numparse=True)
    if rows and sys.stdout.isatty() and (excess := max(map(len, table.splitlines())) - get_terminal_size().columns) > 0:
        room = max(max(len(row[0]) for row in shown) - excess, NARROWEST)
        table = tabulate(shown, headers=names, disable_numparse=True, maxcolwidths=[room])
    lines = [table, *map(path_text, faults.values())]
    stored, planned = sum(one.stored for one in statuses), sum(one.planned for one in statuses)
    return "\n".join([*lines, f"{many(len(rows) + len(faults), 'sweep')}: {stored} of {planned} trials stored"])


def status_text(sweep: SweepStatus) -> str:
    """Return counts by status, the most frequent errors, the recent rate and the time left."""
    from recovery.text import command_text, duration

    lines = [f"{sweep.path}: {sweep.stored} of {sweep.planned} trials stored, {sweep.missing} missing"]
    lines += [f"  {count:>8} {status}" for status, count in sorted(sweep.statuses.items())]
    lines += [f"  {count} x {kind}: {message}  (trial {trial[:12]})" for count, kind, message, trial in sweep.errors]
    if sweep.errors:
        trust = " --trust" if sweep.own else ""
        command = command_text("replay", sweep.path, sweep.errors[0][3][:12], "--traceback")
        lines.append(f"  where: {command}{trust}")
    if sweep.idle is not None:
        lines.append(f"last stored trial began {duration(sweep.idle)} ago")
    if sweep.missing and sweep.seconds_left is not None:
        lines.append(f"recently {sweep.rate:.1f} trials/s; at this rate {duration(sweep.seconds_left)} left")
    if sweep.round is not None and sweep.missing:
        lines.append(f"round {sweep.round} is running: {sweep.missing} trials are missing to its end")
    return "\n".join(line for line in (*lines, sweep.edited, sweep.left_out, sweep.versions) if line)
